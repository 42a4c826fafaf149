package objects

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

type spec struct {
	A string `json:"a,omitempty"`
	B string `json:"-"`
	c string
	D *spec            `json:"d,omitempty"`
	E []spec           `json:"e,omitempty"`
	F map[string]*spec `json:"f,omitempty"`
	G any              `json:"g,omitempty"`
	H metav1.Time      `json:"h,omitempty"`
	//lint:ignore SA5008 the name of the field is "-"
	I string `json:"-,"`
	inner
	J [1]struct{ K int } `json:"j"`
}

type inner struct {
	L string `json:"l,omitempty"`
	m string
}

type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              spec `json:"spec"`
}

func (t *thing) DeepCopyObject() runtime.Object { c := *t; return &c }

// A transform that sets a field without JSON is an error that names it, wherever the field is and also if the
// transform returns a copy. A field with JSON is not.
func TestFieldsWithoutJSON(t *testing.T) {
	for want, set := range map[string]func(*spec){
		"Spec.B":            func(s *spec) { s.B = "x" },
		"Spec.c":            func(s *spec) { s.c = "x" },
		"Spec.D.B":          func(s *spec) { s.D = &spec{B: "x"} },
		"Spec.E[1].c":       func(s *spec) { s.E = []spec{{}, {c: "x"}} },
		"Spec.F[k].D.B":     func(s *spec) { s.F = map[string]*spec{"k": {D: &spec{B: "x"}}} },
		"Spec.G.B":          func(s *spec) { s.G = &spec{B: "x"} },
		"Spec.G[0].inner.m": func(s *spec) { s.G = []any{spec{inner: inner{m: "x"}}} },
		"":                  func(s *spec) { s.A, s.I, s.L, s.H = "x", "x", "x", metav1.NewTime(time.Now()); s.J[0].K = 1 },
		" ":                 func(s *spec) { s.G = map[string]any{"B": "x", "c": []any{1, nil}} },
	} {
		for _, copied := range []bool{false, true} {
			f := func(o any) (any, error) {
				x := o.(*thing)
				if copied {
					x = x.DeepCopyObject().(*thing)
				}
				set(&x.Spec)
				return x, nil
			}
			err := Transform(corev1.SchemeGroupVersion.WithKind("Thing"), f)(&thing{})
			probed := Probe(corev1.SchemeGroupVersion.WithKind("Thing"), f, &thing{})
			e, ok := errors.AsType[*FieldError](err)
			if want = strings.TrimSpace(want); ok != (want != "") || ok && !strings.HasSuffix(e.Field, "thing."+want) || (probed != nil) != ok {
				t.Errorf("%q: %v, %v", want, err, probed)
			}
		}
	}
}

// The types of client-go have no such fields, but those that write their own JSON: looking for them costs one look-up.
func TestBuiltInKindsLoseNothing(t *testing.T) {
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(typ).Interface().(metav1.Object); ok && mayLose(typ) {
			t.Errorf("%s may lose a field", gvk)
		}
	}
}
