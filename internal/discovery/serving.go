package discovery

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving says which versions of a kind a server serves. That proves nothing about its objects: another
// server of the same cluster may serve others.
type Serving struct {
	// Version is the version of the question. Here is true if it serves the kind.
	Version string
	Here    bool
	// Elsewhere has the other versions that serve the kind, in the order of the server.
	Elsewhere []string
	// Gone says that the kind was removed with all of its objects. The proof: its definition was read
	// before, and does not exist now.
	Gone bool
	// Unproven says why there is no such proof. It is nil if nobody asked for one.
	Unproven error
}

// None reports whether no version serves the kind.
func (s Serving) None() bool { return !s.Here && len(s.Elsewhere) == 0 }

var errPartial = errors.New("discovery does not list all versions of the group")

// Serving looks a kind up. The error says why the answer is not complete.
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
	if !found.Here && unknown != nil {
		return Serving{}, unknown
	}
	return found, nil
}

func (v *Version) has(kind string) bool {
	return slices.ContainsFunc(v.Resources, func(r Resource) bool { return r.Kind == kind })
}
