package clientgo_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
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
	for code, reason := range map[int]metav1.StatusReason{
		401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
		429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code),
			})
		}))
		t.Cleanup(server.Close)
		f, err := clientgo.NewSharedInformerFactory(&rest.Config{Host: server.URL}, 0, clientgo.With(clientgo.Options{Mapper: live(t).Mapper()}))
		must(t, err)
		told := make(chan error, 1)
		must(t, f.Core().V1().Nodes().Informer().SetWatchErrorHandler(func(_ *toolscache.Reflector, err error) {
			select {
			case told <- err:
			default:
			}
		}))
		ctx := start(t, f)
		select {
		case err := <-told:
			if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.ErrStatus.Reason != reason {
				t.Errorf("%d: %#v", code, err)
			}
		case <-ctx.Done():
			t.Errorf("%d: not told", code)
		}
	}
}
