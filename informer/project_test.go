package informer_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/store"
)

type valueView struct {
	Value string `field:"data.value"`
}

type wrongView struct{ Dada map[string]string }

// project reads a view of one entry.
func project[V any](t *testing.T, in *informer.Informer, name string) (V, error) {
	t.Helper()
	var v V
	e, err := in.Entry(key(name))
	if err != nil {
		return v, err
	}
	return v, in.Project(e, &v)
}

func TestProjectReadsStoredFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.PutJSON(key("bad"), "", `"data":7`)
		var told problems
		in := newInformer(t, s, func(o *informer.Options) { o.OnProblem = told.add })
		stop := start(t, in)
		defer stop()
		<-in.Synced()

		if v, err := project[valueView](t, in, "a"); err != nil || v.Value != "1" {
			t.Errorf("%+v %v", v, err)
		}
		// What a view does not have may be broken.
		type name struct{ Metadata struct{ Name string } }
		if v, err := project[name](t, in, "bad"); err != nil || v.Metadata.Name != "bad" || told.len() != 0 {
			t.Errorf("%+v %v %v", v, err, &told)
		}
		for range 2 {
			var rejected *store.RejectedError
			if _, err := project[valueView](t, in, "bad"); !errors.As(err, &rejected) || rejected.Key != key("bad") || told.len() != 1 {
				t.Errorf("%v, told %v", err, &told)
			}
		}
		var unfit *wire.ProjectionError
		if _, err := project[wrongView](t, in, "a"); !errors.As(err, &unfit) || unfit.Path != "dada" {
			t.Error(err)
		}
		var mismatch *informer.TypeMismatchError
		if _, err := project[int](t, in, "a"); !errors.As(err, &mismatch) {
			t.Error(err)
		}
		if err := in.CheckView(new(wrongView)); !errors.As(err, &unfit) || told.len() != 1 {
			t.Error(err)
		}
	})
}

// A view of a kind without a Go type may be wrong itself: the object is not blamed.
func TestWrongViewBlamesNoObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
		s := feedtest.New(&wire.Kind{GVK: gvk})
		s.PutJSON(key("a"), "", `"spec":{"size":3}`)
		var told problems
		in := newInformer(t, s, func(o *informer.Options) {
			o.Kind = informer.Kind{GVK: gvk, Resource: gvk.GroupVersion().WithResource("widgets")}
			o.Scheme, o.OnProblem = nil, told.add
		})
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		if v, err := project[struct{ Spec struct{ Size int8 } }](t, in, "a"); err != nil || v.Spec.Size != 3 {
			t.Errorf("%+v %v", v, err)
		}
		var bad *wire.DecodeError
		if _, err := project[struct{ Spec struct{ Size string } }](t, in, "a"); !errors.As(err, &bad) || bad.Field != "spec.size" || told.len() != 0 {
			t.Errorf("%v, told %v", err, &told)
		}
	})
}

func TestViewIndexFindsByItsFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		s.Put(configMap("b", "2"))
		s.PutJSON(key("bad"), "", `"data":7`)
		in := newInformer(t, s)
		if err := in.AddIndex("value", informer.IndexView(func(v *valueView) []string { return []string{v.Value} })); err != nil {
			t.Fatal(err)
		}
		var unfit *wire.ProjectionError
		if err := in.AddIndex("wrong", informer.IndexView(func(*wrongView) []string { return nil })); !errors.As(err, &unfit) || !strings.HasPrefix(err.Error(), `index "wrong": `) {
			t.Error(err)
		}
		if err := in.AddIndex("none", informer.IndexView[valueView](nil)); !errors.Is(err, store.ErrBadIndex) {
			t.Error(err)
		}
		stop := start(t, in)
		defer stop()
		<-in.Synced()
		synctest.Wait() // changes are told after that
		entries, err := in.Entries(informer.Query{Where: store.Is("value", "2")})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for e := range entries {
			names = append(names, e.Header().Name)
		}
		if got := strings.Join(names, " "); got != "b bad" { // no index has the last one, so it may be there
			t.Errorf("found %q", got)
		}
		if rejected := in.Rejected(); len(rejected) != 1 || rejected[0].Key != key("bad") {
			t.Errorf("rejected: %v", rejected)
		}
	})
}
