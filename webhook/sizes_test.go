package webhook_test

import (
	"context"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/webhooktest"
	. "github.com/flyball-io/flyball/webhook"
)

// Objects of every size come to handlers as from the stock decoders, and a patch is one of the whole object.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		c.Encoding = wire.JSON
		if c.GVK.Kind == "ConfigMap" {
			admitSizes[corev1.ConfigMap](t, c)
		} else {
			admitSizes[unstructured.Unstructured](t, c)
		}
	})
}

func admitSizes[T any, P object.Ptr[T]](t *testing.T, c *sizes.Case) {
	t.Helper()
	type seen struct{ old, obj *T }
	var got seen
	o := quiet()
	o.Kind = c.GVK
	validate, err := NewValidator[T, P](scheme.New(), ValidatorFuncs[T]{
		Update: func(_ context.Context, old, obj *T) ([]string, error) { got = seen{old, obj}; return nil, nil },
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	mutate, err := NewDefaulter[T, P](scheme.New(), Defaulter[T](func(_ context.Context, o *T) error {
		P(o).SetLabels(map[string]string{"set": "by the webhook"})
		return nil
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	in := func(h http.Handler) http.Handler { return inPieces{h, c} }
	for i, e := range c.Events {
		if i < len(c.First) {
			old := c.First[i]
			res := must(webhooktest.Update(t.Context(), in(validate), old, e.Object, func(r *admissionv1.AdmissionRequest) { r.Kind = metav1.GroupVersionKind(c.GVK) }))(t)
			if !res.Allowed || got.obj == nil {
				t.Fatalf("%+v", res.Status)
			}
			c.CheckOne(t, P(got.obj), e.Object, false)
			c.CheckOne(t, P(got.old), old, false)
		}
		res := must(webhooktest.Create(t.Context(), in(mutate), e.Object, func(r *admissionv1.AdmissionRequest) { r.Kind = metav1.GroupVersionKind(c.GVK) }))(t)
		want := e.Object.DeepCopyObject().(object.Object)
		want.SetLabels(map[string]string{"set": "by the webhook"})
		c.CheckOne(t, res.Object, want, false)
	}
}

// inPieces is a handler that gets the body in pieces.
type inPieces struct {
	http.Handler
	c *sizes.Case
}

func (h inPieces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = h.c.Pieces(r.Body)
	h.Handler.ServeHTTP(w, r)
}
