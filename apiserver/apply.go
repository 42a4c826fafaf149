package apiserver

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
)

// Apply applies the objects in files and folders server-side, with the field manager "test". Definitions and namespaces
// come before the objects that need them. A namespaced object without a namespace gets "default". An error ends the
// test. Apply panics on a server of [New], which has no test.
func (s *Server) Apply(paths ...string) {
	if s.t == nil {
		panic("apiserver: Apply is for a server of Start, which has a test")
	}
	s.t.Helper()
	if err := s.apply(paths); err != nil {
		s.t.Fatal(fmt.Errorf("apiserver: %w", err))
	}
}

func (s *Server) apply(paths []string) error {
	objs, err := manifest.Read(paths...)
	if err != nil {
		return err
	}
	if len(objs) == 0 {
		return fmt.Errorf("no objects are in %q", paths)
	}
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx := s.t.Context()
	var crds []manifest.Object
	rest := slices.DeleteFunc(objs, func(o manifest.Object) bool {
		if manifest.IsCRD(o) {
			crds = append(crds, o)
		}
		return manifest.IsCRD(o)
	})
	if err := manifest.Apply(ctx, c, "test", crds, nil); err != nil {
		return err
	}
	for _, o := range rest {
		kind := o.GroupVersionKind()
		m, err := c.Mapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("%s: %w: is its definition in Options.CRDs, or among what is applied?", manifest.Name(o), err)
		}
		if m.Scope.Name() == meta.RESTScopeNameNamespace && o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
	}
	return manifest.Apply(ctx, c, "test", rest, nil)
}
