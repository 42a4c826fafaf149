package discovery

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errPartial = errors.New("discovery does not list all versions of the group")

// Serving reports whether a kind is served in its version, and in which others, in the order of the server. The error
// says why the answer is not complete. It proves nothing about objects: another server of the same cluster may serve
// other versions.
func (s *Served) Serving(gvk schema.GroupVersionKind) (here bool, elsewhere []string, err error) {
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
				here = true
			default:
				elsewhere = append(elsewhere, v.Name)
			}
		}
	}
	if !here && unknown != nil {
		return false, nil, unknown
	}
	return here, elsewhere, nil
}

func (v *Version) has(kind string) bool {
	return slices.ContainsFunc(v.Resources, func(r Resource) bool { return r.Kind == kind })
}
