package store

import (
	"reflect"

	"github.com/flyball-io/flyball/internal/wire"
)

// ByPath indexes objects by the values at a field path, as text: "spec.nodeName", "metadata.labels[app]",
// "spec.containers[*].image"; see [wire.CompilePath]. Objects without the field are not in it. t is the Go type of the
// objects; nil: they are JSON, and the path is not checked. The error is a [*wire.PathError].
func ByPath(t reflect.Type, path string) (Indexer, error) {
	p, err := wire.CompilePath(t, path)
	if err != nil {
		return nil, err
	}
	return builtin{partsOf(p), func(e *Entry) (values []string, err error) {
		err = e.Read(func(raw wire.Raw) (err error) {
			values, err = p.Values(raw)
			return err
		})
		return values, err
	}}, nil
}

// partsOf returns the parts that a path may read; 0: possibly all.
func partsOf(path *wire.Path) partSet {
	switch path.Member(0) {
	case "spec":
		return specPart
	case "status":
		return specPart | statusPart // a kind without a known status field has it among the rest of the object
	case "metadata":
	default:
		return 0
	}
	switch path.Member(1) {
	case "labels":
		return labelsPart
	case "annotations":
		return annotationsPart
	case "ownerReferences":
		switch path.Member(2) {
		case "uid", "name", "kind", "apiVersion": // controller differs where it is missing or false, its digest does not
			return ownersPart
		}
	}
	return 0
}

// Transient makes an Indexer of a function that keeps nothing of the entries it receives, nor of
// their bytes. The store then reuses their memory. It is for functions that read or decode the
// object.
func Transient(f IndexFunc) Indexer {
	if f == nil {
		return f
	}
	return transient{f}
}

// transient is a function that keeps nothing of an entry.
type transient struct{ IndexFunc }

// builtin is a function of this package: it is quick, and keeps nothing of an entry.
type builtin struct {
	parts partSet // parts it depends on; 0: possibly all
	IndexFunc
}

// partSet is a set of the parts of an object that have a digest, in the order of digest.parts.
type partSet uint8

const (
	labelsPart partSet = 1 << iota
	annotationsPart
	specPart
	statusPart
	ownersPart
)

// sameParts returns the parts that are equal in two states of an object. a may be nil. If one is
// nil or rejected, no part counts as equal.
func sameParts(a, b *Entry) (same partSet) {
	if a == nil || a.rejected != nil || b.rejected != nil {
		return 0
	}
	x, y := a.meta(), b.meta()
	theirs := y.digest.parts()
	for i, p := range x.digest.parts() {
		if *p == *theirs[i] {
			same |= 1 << i
		}
	}
	return same
}
