package object_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
)

func TestKindOfUsesTheTypeOrTheName(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	named := metav1.TypeMeta{APIVersion: "example.org/v1", Kind: "Gauge"}
	for _, test := range []struct {
		name   string
		scheme *runtime.Scheme
		o      object.Object
		want   string // the kind; empty: unknown
	}{
		{"typed", scheme, &corev1.Pod{}, "/v1, Kind=Pod"},
		{"typed, says something else", scheme, &corev1.Pod{TypeMeta: named}, "/v1, Kind=Pod"},
		{"metadata-only", nil, &metav1.PartialObjectMetadata{TypeMeta: named}, "example.org/v1, Kind=Gauge"},
		{"no kind", scheme, &metav1.PartialObjectMetadata{}, ""},
		{"no apiVersion", scheme, &unstructured.Unstructured{Object: map[string]any{"kind": "Gauge"}}, ""},
		{"not in the scheme", runtime.NewScheme(), &corev1.Pod{}, ""},
		{"no scheme", nil, &corev1.Pod{}, ""},
		{"nothing", scheme, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := object.KindOf(test.scheme, test.o)
			if test.want != "" && (err != nil || got.String() != test.want) {
				t.Errorf("%v, %v", got, err)
			}
			if _, unknown := errors.AsType[*object.UnknownKindError](err); unknown != (test.want == "") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A type that nobody registered is the first mistake with a kind of one's own: the error says what to do.
func TestUnregisteredTypeIsToldWhatToDo(t *testing.T) {
	_, err := object.KindOf(runtime.NewScheme(), &corev1.Pod{})
	if err == nil || !strings.Contains(err.Error(), "no kind is registered") || !strings.Contains(err.Error(), "AddToScheme") {
		t.Errorf("got %v", err)
	}
	if _, err = object.KindOf(nil, &corev1.Pod{}); err == nil || strings.Contains(err.Error(), "AddToScheme") {
		t.Errorf("without a scheme: got %v", err)
	}
}
