// Package corpus makes objects for benchmarks, as a cluster would hold them, from a seed: the same
// seed makes the same bytes.
//
//	Spec{Kind: "pods", Objects: 100_000, Owners: 50} ── At(i), or Changed(i, n) ──► an object
//
// An object is a function of the seed, its number and how often it has changed, so nothing is kept:
// a corpus of a million objects costs what one does. A Recording is a corpus, too: objects of a
// real cluster, from a file.
package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Corpus is objects of one kind, and how each changes. It is read only and may be used from any
// goroutine.
type Corpus interface {
	// ID tells a corpus from every other one: the same ID means the same bytes.
	ID() string
	// Resource is what the objects are.
	Resource() Resource
	// Len is how many there are.
	Len() int
	// At is the object i of the first list, whose resourceVersion is FirstVersion+i, and Changed
	// the same object after n changes. What they return belongs to the caller.
	At(i int) Object
	Changed(i, n int) Object
}

// Resource is a kind, and how a server names it.
type Resource struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// Object is what a corpus is made of.
type Object interface {
	metav1.Object
	runtime.Object
}

// Version is the resourceVersion of a whole corpus, when nothing has changed yet.
func Version(c Corpus) int { return FirstVersion + c.Len() }

// Spec is a corpus that is made up: it says which objects there are. Objects, Owners and Seed are numbers; zero Owners: 50.
type Spec struct {
	// Kind is one of Kinds.
	Kind string
	// Objects is how many there are.
	Objects int
	// Owners is among how many owners they are shared out, in equal parts.
	Owners int
	// ManagedFields says that the objects carry them.
	ManagedFields bool
	// Seed of all that is random.
	Seed uint64
}

// kind is how the objects of one kind are made.
type kind struct {
	gvk      schema.GroupVersionKind
	resource string
	global   bool
	make     func(g *maker) Object
}

var kinds = map[string]kind{
	"pods":        {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", false, pod},
	"nodes":       {schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "nodes", true, node},
	"configmaps":  {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", false, configMap},
	"secrets":     {schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "secrets", false, secret},
	"deployments": {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", false, deployment},
	"events":      {schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "events", false, event},
	"widgets":     {widgets.WithKind("Widget"), "widgets", false, widget},
}

// Kinds are the kinds that there are corpora of.
func Kinds() []string {
	var all []string
	for name := range kinds {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Check reports what cannot be in a spec, by the name of the field.
func (s Spec) Check() error {
	switch {
	case kinds[s.Kind].make == nil:
		return fmt.Errorf("kind %q: there are corpora of %s", s.Kind, strings.Join(Kinds(), ", "))
	case s.Objects < 0:
		return fmt.Errorf("objects: %d is negative", s.Objects)
	case s.Owners < 0:
		return fmt.Errorf("owners: %d is negative", s.Owners)
	}
	return nil
}

// ID implements Corpus.
func (s Spec) ID() string {
	return fmt.Sprintf("%s-%d-%d-%t-%d", s.Kind, s.Objects, s.owners(), s.ManagedFields, s.Seed)
}

// Resource implements Corpus.
func (s Spec) Resource() Resource { return Resource{s.GVK(), s.GVR(), s.Namespaced()} }

// Len implements Corpus.
func (s Spec) Len() int { return s.Objects }

// GVK is the kind of the objects.
func (s Spec) GVK() schema.GroupVersionKind { return kinds[s.Kind].gvk }

// GVR is the resource that serves them.
func (s Spec) GVR() schema.GroupVersionResource {
	k := kinds[s.Kind]
	return k.gvk.GroupVersion().WithResource(k.resource)
}

// Namespaced reports whether the objects have a namespace.
func (s Spec) Namespaced() bool { return !kinds[s.Kind].global }

// FirstVersion is the resourceVersion of the first object; that of the object i is FirstVersion+i.
const FirstVersion = 1_000_000

// At is the object i, as it is in the first list.
func (s Spec) At(i int) Object { return s.Changed(i, 0) }

// Changed is the object i after it has changed n times. Its resourceVersion is that of the first
// list: a change has to be given one.
func (s Spec) Changed(i, n int) Object {
	g := &maker{spec: s, i: i, n: n, owner: i * s.owners() / max(s.Objects, 1)}
	g.r = rand.New(rand.NewPCG(s.Seed, uint64(i)<<20))
	g.shared = rand.New(rand.NewPCG(s.Seed+1, uint64(g.owner)))
	o := kinds[s.Kind].make(g)
	o.SetResourceVersion(fmt.Sprint(FirstVersion + i))
	if s.ManagedFields {
		o.SetManagedFields(g.managedFields(o))
	}
	return o
}

func (s Spec) owners() int {
	if s.Owners == 0 {
		return min(50, max(s.Objects, 1))
	}
	return min(s.Owners, max(s.Objects, 1))
}

// maker is what one object is made from.
type maker struct {
	spec   Spec
	i, n   int        // which object, and how often it has changed
	owner  int        // which of the owners
	r      *rand.Rand // differs for each object
	shared *rand.Rand // the same for all objects of an owner
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

// word is n random letters as the API server appends them to generated names.
func word(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func hex(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

func uid(r *rand.Rand) string {
	return hex(r, 8) + "-" + hex(r, 4) + "-4" + hex(r, 3) + "-a" + hex(r, 3) + "-" + hex(r, 12)
}

// namespace of the objects of this owner: there are about 20 owners in each.
func (g *maker) namespace() string { return fmt.Sprintf("team-%03d", g.owner/20) }
