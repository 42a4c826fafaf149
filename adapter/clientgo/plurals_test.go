package clientgo_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/adapter/internal/refused"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/test/servertest"
)

// ForResource finds the Go type of each resource, whatever its plural, by the mapper of the options or by the server.
// Resources without a type, or without a list, are errors.
func TestForResourceKnowsAllPlurals(t *testing.T) {
	servertest.Namespace(t, servertest.Shared(t))
	gv := schema.GroupVersion{Group: "plurals.flyball.io", Version: "v1"}
	plurals := map[string]string{"Book": "books", "Person": "people", "Moose": "moose", "Untyped": "untyped", "Alone": "alone"}
	s := runtime.NewScheme()
	must(t, corev1.AddToScheme(s))
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	for kind, plural := range plurals {
		gvk := gv.WithKind(kind)
		mapper.AddSpecific(gvk, gv.WithResource(plural), gv.WithResource(plural+"-one"), meta.RESTScopeNamespace)
		livetest.Define(t, live(t), testobj.CRD(gvk, plural))
		if kind != "Untyped" {
			s.AddKnownTypeWithName(gvk, &corev1.ConfigMap{})
		}
		if kind != "Untyped" && kind != "Alone" {
			s.AddKnownTypeWithName(gv.WithKind(kind+"List"), &corev1.ConfigMapList{})
		}
	}
	for from, options := range map[string][]clientgo.Option{
		"the server":  {clientgo.WithScheme(s)},
		"the options": {clientgo.With(clientgo.Options{Mapper: mapper}), clientgo.WithScheme(s)},
	} {
		for kind, plural := range plurals {
			f := newFactory(t, options...)
			g, err := f.ForResource(gv.WithResource(plural))
			if typed := kind != "Untyped" && kind != "Alone"; typed != (err == nil) || err == nil && g.Lister() == nil {
				t.Errorf("%s by %s: %v", plural, from, err)
			}
		}
		for _, of := range []schema.GroupVersionResource{gv.WithResource("none"), {Group: "nobody.flyball.io", Version: "v1", Resource: "books"}} {
			if _, err := newFactory(t, options...).ForResource(of); err == nil {
				t.Errorf("%s by %s is found", of, from)
			}
		}
	}
}

// Whatever the server answers, the handler of watch errors finds it as an error of apimachinery.
func TestWatchErrorsAreStatusErrors(t *testing.T) {
	refused.Run(t, func(cfg *rest.Config, told func(error)) {
		f, err := clientgo.NewSharedInformerFactory(cfg, 0, clientgo.With(clientgo.Options{Mapper: live(t).Mapper()}))
		must(t, err)
		must(t, f.Core().V1().Nodes().Informer().SetWatchErrorHandler(func(_ *toolscache.Reflector, err error) { told(err) }))
		start(t, f)
	})
}
