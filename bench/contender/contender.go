// Package contender holds one kind of objects in memory in the ways that are compared: Flyball's
// cache, client-go's informer, controller-runtime's cache.
//
// All do the same: list and watch one kind, an index by node (or by the label of the application,
// where there are no nodes), a handler that sees every change, and reads whose results may be
// changed. Each can be had as it is by default, and with the best settings that its documentation
// has for a program that needs no managedFields.
package contender

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// Options say what a contender holds.
type Options struct {
	// Config of the server. Its content type is that of the objects.
	Config *rest.Config
	// Spec is the corpus that the server has.
	Spec corpus.Spec
	// Best says that managedFields are not kept.
	Best bool
	// OnEvent is told the resourceVersion of each change after the first list, in the last handler,
	// on one goroutine.
	OnEvent func(version string)
}

// Contender is one way of holding objects.
type Contender interface {
	// Run lists and watches until ctx ends.
	Run(ctx context.Context) error
	// WaitForSync returns when the first list is there.
	WaitForSync(ctx context.Context) error
	// Get reads one object, into memory that the caller may change.
	Get(key object.Key) error
	// ByIndex reads the objects of a node or application likewise, and returns how many there are.
	ByIndex(value string) (int, error)
	// Header reads the metadata of one object, in the cheapest way that there is.
	Header(key object.Key) error
	// Held is how many bytes are held outside the Go heap.
	Held() int
}

// contenders by name. Metadata-only ones hold less and are told apart.
var contenders = map[string]func(Options) (Contender, error){
	"flyball":                     newFlyball,
	"client-go":                   newClientGo,
	"controller-runtime":          newControllerRuntime,
	"controller-runtime-metadata": newControllerRuntimeMetadata,
}

// Names of all contenders.
func Names() []string { return slices.Sorted(maps.Keys(contenders)) }

// New makes a contender.
func New(name string, o Options) (Contender, error) {
	if f := contenders[name]; f != nil {
		return f(o)
	}
	return nil, fmt.Errorf("contender %q: there are %s", name, strings.Join(Names(), ", "))
}

// Metadata reports whether a contender holds metadata only.
func Metadata(name string) bool { return strings.HasSuffix(name, "-metadata") }

// IndexName is the name of the index that all contenders have.
const IndexName = "spec.nodeName"

// IndexValue is what an object is found by.
func IndexValue(o any) string {
	switch o := o.(type) {
	case *corev1.Pod:
		return o.Spec.NodeName
	case *unstructured.Unstructured:
		return o.GetLabels()[appLabel]
	case interface{ GetLabels() map[string]string }:
		return o.GetLabels()[appLabel]
	}
	return ""
}

const appLabel = "app.kubernetes.io/name"

// mapper knows the one kind of a spec, so that nobody has to ask the server.
func mapper(s corpus.Spec) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	scope := meta.RESTScopeRoot
	if s.Namespaced() {
		scope = meta.RESTScopeNamespace
	}
	m.AddSpecific(s.GVK(), s.GVR(), s.GVR(), scope)
	return m
}

// empty is an object of the kind, to name it.
func empty(s corpus.Spec) corpus.Object {
	o := s.At(0)
	if u, ok := o.(*unstructured.Unstructured); ok {
		blank := &unstructured.Unstructured{}
		blank.SetGroupVersionKind(u.GroupVersionKind())
		return blank
	}
	return blankOf(o)
}
