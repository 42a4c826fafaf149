// Package corpus makes objects for benchmarks, like those of a cluster, from a seed. The same seed
// makes the same bytes.
//
//	Spec{Kind: "pods", Objects: 100_000, Owners: 50} ── At(i), or Changed(i, n) ──► an object
//
// An object is a function of the seed, its number and the number of its changes. Nothing is stored:
// a corpus of a million objects costs as much as one of a single object. A Cluster is
// another corpus: it has all kinds of a cluster, in published proportions, and its churn.
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

// Corpus is a number of objects of one or more kinds, and their changes. It is immutable and safe
// for concurrent use.
type Corpus interface {
	// ID identifies a corpus: the same ID means the same bytes.
	ID() string
	// Resources returns the kinds of the objects.
	Resources() []Resource
	// KindOf returns the kind of object i, as an index in Resources.
	KindOf(i int) int
	// Len returns the number of objects in the first list, of all kinds.
	Len() int
	// At returns object i of the first list, with the resourceVersion FirstVersion+i. The caller
	// owns the result.
	At(i int) Object
	// Churn returns that many changes after the first list. The first of them are the same for any
	// number.
	Churn(events int) Churn
}

// Churn is a sequence of changes. It is immutable and safe for concurrent use.
type Churn struct {
	Steps []Step
	// Object returns the object that step k leaves, or that it deletes. The caller owns the result,
	// and sets its resourceVersion.
	Object func(k int) Object
}

// Step is one change.
type Step struct {
	// Object is the number of the object. Numbers from the corpus's Len on are objects that the
	// churn makes.
	Object int
	// Kind is the kind of the object, as an index in Resources.
	Kind int
	// Deleted says that the step deletes the object. Otherwise it changes or makes it.
	Deleted bool
}

// inTurn returns the churn of a corpus whose objects change one after another, and are never
// deleted. changed returns object i after n changes.
func inTurn(objects, events int, changed func(i, n int) Object) Churn {
	c := Churn{Steps: make([]Step, events)}
	for k := range c.Steps {
		c.Steps[k].Object = Scatter(k, objects)
	}
	c.Object = func(k int) Object { return changed(c.Steps[k].Object, 1+k/objects) }
	return c
}

// Scatter returns the k-th of n objects in an order that keeps neighbours, which are alike, far
// apart. Each n steps visit all.
func Scatter(k, n int) int {
	for _, p := range []int{7919, 104729, 1299709} {
		if n%p != 0 {
			return k * p % n
		}
	}
	return k % n
}

// Resource is a kind, and its name in URLs.
type Resource struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// Object is an object of a corpus.
type Object interface {
	metav1.Object
	runtime.Object
}

// Version returns the resourceVersion of a whole corpus before the first change.
func Version(c Corpus) int { return FirstVersion + c.Len() }

// Spec is a generated corpus. Its fields say which objects it has. Zero Owners means 50.
type Spec struct {
	// Kind is one of Kinds.
	Kind string
	// Objects is the number of objects.
	Objects int
	// Owners is the number of owners, each with an equal part of the objects.
	Owners int
	// ManagedFields says that the objects have managedFields.
	ManagedFields bool
	// Seed is the seed of all random values.
	Seed uint64
}

// kind makes the objects of one kind.
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

	"networkendpoints": {platform("NetworkEndpoint"), "networkendpoints", false, networkEndpoint},
	"deliveries":       {platform("Delivery"), "deliveries", false, delivery},
	"certificates":     {platform("Certificate"), "certificates", false, certificate},
	"policyreports":    {platform("PolicyReport"), "policyreports", false, policyReport},
	"routes":           {platform("Route"), "routes", false, route},
	"machines":         {platform("Machine"), "machines", true, machine},
	"secretstores":     {platform("SecretStore"), "secretstores", false, secretStore},
	"dashboards":       {platform("Dashboard"), "dashboards", false, dashboard},
	"services":         {schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", false, service},
	"releases":         {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", false, release},
}

// Kinds returns the kinds with a corpus.
func Kinds() []string {
	var all []string
	for name := range kinds {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Check reports an invalid field by its name.
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

// Resource returns the kind of the objects.
func (s Spec) Resource() Resource {
	return Resource{GVK: s.GVK(), GVR: s.GVR(), Namespaced: s.Namespaced()}
}

// Resources implements Corpus.
func (s Spec) Resources() []Resource { return []Resource{s.Resource()} }

// KindOf implements Corpus.
func (s Spec) KindOf(int) int { return 0 }

// Churn implements Corpus: the objects change in turn.
func (s Spec) Churn(events int) Churn { return inTurn(s.Objects, events, s.Changed) }

// Len implements Corpus.
func (s Spec) Len() int { return s.Objects }

// GVK returns the kind of the objects.
func (s Spec) GVK() schema.GroupVersionKind { return kinds[s.Kind].gvk }

// GVR returns the resource of the objects.
func (s Spec) GVR() schema.GroupVersionResource {
	k := kinds[s.Kind]
	return k.gvk.GroupVersion().WithResource(k.resource)
}

// Namespaced reports whether the objects have a namespace.
func (s Spec) Namespaced() bool { return !kinds[s.Kind].global }

// FirstVersion is the resourceVersion of the first object. Object i has FirstVersion+i.
const FirstVersion = 1_000_000

// At returns object i, as it is in the first list.
func (s Spec) At(i int) Object { return s.Changed(i, 0) }

// Changed returns object i after n changes. Its resourceVersion is that of the first list: the
// caller sets that of a change.
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

// maker holds the inputs of one object.
type maker struct {
	spec   Spec
	i, n   int        // number of the object, and of its changes
	owner  int        // number of the owner
	r      *rand.Rand // differs for each object
	shared *rand.Rand // the same for all objects of an owner
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

// word returns n random letters, as the API server appends them to generated names.
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

// namespace returns the namespace of the owner's objects. Each has about 20 owners.
func (g *maker) namespace() string { return fmt.Sprintf("team-%03d", g.owner/20) }
