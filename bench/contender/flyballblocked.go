package contender

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// block adds the handler that blocks. It has a Go type of its own where one is known here.
func (f *flyballs) block() error {
	inf := f.handle.Informer()
	switch f.o.blank().(type) {
	case *corev1.Pod:
		return addBlocked[corev1.Pod](inf, f.o.Blocked)
	case *unstructured.Unstructured:
		return addBlocked[unstructured.Unstructured](inf, f.o.Blocked)
	}
	return addBlocked[metav1.PartialObjectMetadata](inf, f.o.Blocked)
}

func addBlocked[T any, P object.Ptr[T]](inf *informer.Informer, block func()) error {
	_, err := informer.AddHandler[T, P](inf, informer.Handler[T]{
		OnAdd: func(*T, bool) { block() }, OnUpdate: func(_, _ *T) { block() }, OnDelete: func(*T, bool) { block() },
	}, informer.HandlerOptions{Name: "blocked"})
	return err
}

// offHeap is what the store says that it has outside the Go heap.
func offHeap(s store.Stats) int64 {
	if v := reflect.ValueOf(s).FieldByName("OffHeap"); v.IsValid() {
		return v.Int()
	}
	return 0
}
