package store

import "github.com/flyball-io/flyball/wire"

// ByNamespace finds objects by their namespace; cluster-scoped ones not at all. Snapshots read one
// namespace without it; it serves conditions with Or.
func ByNamespace() Indexer {
	return readyMade{partial{nil, func(e *Entry) ([]string, error) {
		if e.key.Namespace == "" {
			return nil, nil
		}
		return []string{e.key.Namespace}, nil
	}}}
}

// ByLabel finds objects by the value of a label; those without it not at all.
func ByLabel(label string) Indexer {
	return readyMade{partial{[]Part{Labels}, func(e *Entry) ([]string, error) {
		value, ok := e.Label(label)
		if !ok {
			return nil, nil
		}
		return []string{value}, nil
	}}}
}

// ByOwnerUID finds objects by the uid of each of their owners.
func ByOwnerUID() Indexer {
	return readyMade{partial{[]Part{Owners}, func(e *Entry) ([]string, error) {
		owners := e.owners()
		if len(owners) == 0 {
			return nil, nil
		}
		uids := make([]string, len(owners))
		for i, o := range owners {
			uids[i] = string(o.UID)
		}
		return uids, nil
	}}}
}

// ByPath finds objects by the values that a field path leads to, as text; those where it leads
// nowhere not at all. The path must be compiled for the kind of the store.
func ByPath(path *wire.Path) Indexer {
	var in []Part
	switch name, inner := path.Member(); {
	case name == "spec":
		in = []Part{Spec}
	case name == "status":
		in = []Part{Spec, Status} // a kind whose status is not known by that name has it with the rest
	case name == "metadata" && inner == "labels":
		in = []Part{Labels}
	case name == "metadata" && inner == "annotations":
		in = []Part{Annotations}
	}
	return readyMade{partial{in, func(e *Entry) (values []string, err error) {
		err = e.Read(func(raw wire.Raw) (err error) {
			values, err = path.Values(raw)
			return err
		})
		return values, err
	}}}
}

// Transient makes an Indexer of a function that keeps nothing of the entries that it is shown, nor of
// their bytes: only their memory is used again for what comes next. It is for functions that read or
// decode the object.
func Transient(f IndexFunc) Indexer {
	if f == nil {
		return f
	}
	return partial{nil, f}
}

// readyMade is an Indexer of this package: it is known to be quick.
type readyMade struct{ partial }

// partial is a function that looks at some parts; at none: at any. It keeps nothing of an entry.
type partial struct {
	in []Part
	IndexFunc
}

// Parts implements Partial.
func (p partial) Parts() []Part { return p.in }
