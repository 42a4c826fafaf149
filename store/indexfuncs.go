package store

import "github.com/flyball-io/flyball/wire"

// ByNamespace indexes objects by namespace. Cluster-scoped objects are not in it. A Snapshot reads
// one namespace without an index; this one serves conditions with Or.
func ByNamespace() Indexer {
	return builtin{partial{nil, func(e *Entry) ([]string, error) {
		if e.key.Namespace == "" {
			return nil, nil
		}
		return []string{e.key.Namespace}, nil
	}}}
}

// ByLabel indexes objects by the value of a label. Objects without the label are not in it.
func ByLabel(label string) Indexer {
	return builtin{partial{[]Part{Labels}, func(e *Entry) ([]string, error) {
		value, ok := e.Label(label)
		if !ok {
			return nil, nil
		}
		return []string{value}, nil
	}}}
}

// ByOwnerUID indexes objects by the uid of each of their owners.
func ByOwnerUID() Indexer {
	return builtin{partial{[]Part{Owners}, func(e *Entry) ([]string, error) {
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

// ByPath indexes objects by the values at a field path, as text. Objects without the field are not
// in it. The path must be compiled for the kind of the store.
func ByPath(path *wire.Path) Indexer {
	var in []Part
	switch name, inner := path.Member(); {
	case name == "spec":
		in = []Part{Spec}
	case name == "status":
		in = []Part{Spec, Status} // a kind without a known status field has it among the rest of the object
	case name == "metadata" && inner == "labels":
		in = []Part{Labels}
	case name == "metadata" && inner == "annotations":
		in = []Part{Annotations}
	}
	return builtin{partial{in, func(e *Entry) (values []string, err error) {
		err = e.Read(func(raw wire.Raw) (err error) {
			values, err = path.Values(raw)
			return err
		})
		return values, err
	}}}
}

// Transient makes an Indexer of a function that keeps nothing of the entries it receives, nor of
// their bytes. The store then reuses their memory. It is for functions that read or decode the
// object.
func Transient(f IndexFunc) Indexer {
	if f == nil {
		return f
	}
	return partial{nil, f}
}

// builtin is an Indexer of this package: it is known to be quick.
type builtin struct{ partial }

// partial is a function that depends on some parts; without parts on any. It keeps nothing of an
// entry.
type partial struct {
	in []Part
	IndexFunc
}

// Parts implements Partial.
func (p partial) Parts() []Part { return p.in }
