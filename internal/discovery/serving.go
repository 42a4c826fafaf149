package discovery

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving says which versions of a kind a server serves.
type Serving struct {
	// Version is the version of the question. Here is true if it serves the kind.
	Version string
	Here    bool
	// Elsewhere has the other versions that serve the kind, in the order of the server.
	Elsewhere []string
}

// None reports whether no version serves the kind.
func (s Serving) None() bool { return !s.Here && len(s.Elsewhere) == 0 }

var (
	errNoCore  = errors.New("discovery does not list the resources of core/v1: it is not that of a whole API server")
	errPartial = errors.New("discovery does not list all versions of the group")
)

// Serving looks a kind up. The error says why the answer does not count.
func (s *Served) Serving(gvk schema.GroupVersionKind) (Serving, error) {
	found := Serving{Version: gvk.Version}
	var unknown error
	for _, g := range s.Groups {
		if g.Name != gvk.Group {
			continue
		}
		for _, v := range g.Versions {
			switch {
			case v.Err != nil:
				unknown = fmt.Errorf("%w: %s: %w", errPartial, v.Name, v.Err)
			case !v.has(gvk.Kind):
			case v.Name == gvk.Version:
				found.Here = true
			default:
				found.Elsewhere = append(found.Elsewhere, v.Name)
			}
		}
	}
	switch {
	case found.Here:
		return found, nil
	case unknown != nil:
		return Serving{}, unknown
	case !s.whole(gvk.Kind):
		return Serving{}, errNoCore
	}
	return found, nil
}

func (v *Version) has(kind string) bool {
	return slices.ContainsFunc(v.Resources, func(r Resource) bool { return r.Kind == kind })
}

// whole reports whether core/v1 is known and has another kind than this one.
func (s *Served) whole(kind string) bool {
	core := s.Version(schema.GroupVersion{Version: "v1"})
	return core != nil && core.Err == nil &&
		slices.ContainsFunc(core.Resources, func(r Resource) bool { return r.Kind != kind })
}
