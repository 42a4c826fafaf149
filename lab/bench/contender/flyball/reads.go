package flyball

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Get implements contender.Contender.
func (f *holder) Get(key contender.Key) error {
	return f.cache.Get(context.Background(), key.Key, f.kinds[key.Kind].Blank(), client.GetOptions{})
}

// ByIndex implements contender.Contender.
func (f *holder) ByIndex(kind int, value string) (int, error) {
	k := f.kinds[kind]
	return f.list(k, client.MatchingFields{contender.IndexPath(k.Resource): value})
}

// ByLabel implements contender.Contender.
func (f *holder) ByLabel(kind int, namespace, value string) (int, error) {
	return f.list(f.kinds[kind], client.InNamespace(namespace), client.MatchingLabels{contender.AppLabel: value})
}

func (f *holder) list(k held, opts ...client.ListOption) (n int, err error) {
	var o client.ListOptions
	if err := o.Apply(opts...); err != nil {
		return 0, err
	}
	for _, err := range f.cache.List(context.Background(), k.proto, o) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Some implements contender.Contender.
func (f *holder) Some(kind int, value string, few int) (n int, err error) {
	k := f.kinds[kind]
	var o client.ListOptions
	if err := o.Apply(client.MatchingFields{contender.IndexPath(k.Resource): value}); err != nil {
		return 0, err
	}
	for _, err := range f.cache.List(context.Background(), k.proto, o) {
		if err != nil {
			return n, err
		}
		if n++; n == few {
			break
		}
	}
	return n, nil
}

// Shared reads metadata without a copy: the identity of the object, a label and the owners.
func (f *holder) Shared(key contender.Key) error {
	return f.kinds[key.Kind].handle.Informer().Look(key.Key, func(e *store.Entry) error {
		read := metadata{key: e.Key(), uid: e.UID(), version: e.ResourceVersion(), generation: e.Generation()}
		read.app, _ = e.Label(contender.AppLabel)
		for owner := range e.Owners() {
			read.owner = owner
		}
		if read.key != key.Key || read.version == "" {
			return fmt.Errorf("the metadata of %s is not whole", key.Key)
		}
		return nil
	})
}

// metadata is the result of Shared.
type metadata struct {
	key        object.Key
	uid        types.UID
	version    string
	generation int64
	app        string
	owner      object.Owner
}

// Header reads the metadata as a copy.
func (f *holder) Header(key contender.Key) error {
	_, err := f.kinds[key.Kind].handle.Informer().Header(key.Key)
	return err
}

// podView and anyView are three fields of a Pod, and of any object.
type podView struct {
	Spec   struct{ NodeName string }
	Status struct {
		Phase corev1.PodPhase
		PodIP string
	}
}

type anyView struct {
	Metadata struct {
		Name       string
		Generation int64
		Labels     map[string]string
	}
}

// Project reads three fields.
func (f *holder) Project(key contender.Key) error {
	k := f.kinds[key.Kind]
	if k.GVK == contender.Pod && k.View != contender.Metadata {
		var view podView
		return f.cache.Project(context.Background(), key.Key, k.proto, &view, client.GetOptions{})
	}
	var view anyView
	return f.cache.Project(context.Background(), key.Key, k.proto, &view, client.GetOptions{})
}

// block adds the blocking handler, with the Go type of the kind.
func (h held) block(block func()) error {
	inf := h.handle.Informer()
	switch h.proto.(type) {
	case *corev1.Pod:
		return addBlocked[corev1.Pod](inf, block)
	case *unstructured.Unstructured:
		return addBlocked[unstructured.Unstructured](inf, block)
	}
	return addBlocked[metav1.PartialObjectMetadata](inf, block)
}

func addBlocked[T any, P object.Ptr[T]](inf *informer.Informer, block func()) error {
	_, err := informer.AddHandler[T, P](inf, informer.Handler[T]{
		Name:  "blocked",
		OnAdd: func(*T, bool) { block() }, OnUpdate: func(_, _ *T) { block() }, OnDelete: func(*T, bool) { block() },
	})
	return err
}
