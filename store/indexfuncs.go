package store

import "github.com/flyball-io/flyball/wire"

// ByNamespace finds objects by their namespace; cluster-scoped ones not at all. Snapshots read one
// namespace without it; it serves conditions with Or.
func ByNamespace(e *Entry) ([]string, error) {
	if e.key.Namespace == "" {
		return nil, nil
	}
	return []string{e.key.Namespace}, nil
}

// ByLabel finds objects by the value of a label; those without it not at all.
func ByLabel(label string) IndexFunc {
	return func(e *Entry) ([]string, error) {
		value, ok := e.Header().Labels[label]
		if !ok {
			return nil, nil
		}
		return []string{value}, nil
	}
}

// ByOwnerUID finds objects by the uid of each of their owners.
func ByOwnerUID(e *Entry) ([]string, error) {
	owners := e.Header().Owners
	if len(owners) == 0 {
		return nil, nil
	}
	uids := make([]string, len(owners))
	for i, o := range owners {
		uids[i] = string(o.UID)
	}
	return uids, nil
}

// ByPath finds objects by the values that a field path leads to, as text; those where it leads
// nowhere not at all. The path must be compiled for the kind of the store.
func ByPath(path *wire.Path) IndexFunc {
	return func(e *Entry) (values []string, err error) {
		err = e.Read(func(raw wire.Raw) (err error) {
			values, err = path.Values(raw)
			return err
		})
		return values, err
	}
}
