package sizes

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/object"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	// Things is the kind of custom resources without a Go type.
	Things = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
)

// Largest is the size of the largest object, in bytes of its content: what an API server takes.
const Largest = 3 << 20

// edges are the sizes where readers change their method.
var edges = []int{0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, Largest}

// size draws a size: small, just around an edge, or anything, with as many below 1 KiB as above 1 MiB.
func size(r *rand.Rand, largest int) int {
	n := r.IntN(1 << 10)
	switch r.IntN(3) {
	case 0:
		n = edges[r.IntN(len(edges))] + 100 - r.IntN(700) // the rest of the object has a few hundred bytes
	case 1:
		n = int(math.Exp(r.Float64() * math.Log(Largest)))
	}
	return min(max(n, 0), largest)
}

const firstVersion = 1000

func (c *Case) draw() {
	version := firstVersion
	for i := range c.r.IntN(7) {
		c.First = append(c.First, c.newObject(fmt.Sprintf("o%d", i), version-10+i))
	}
	live := slices.Clone(c.First)
	events := c.r.IntN(5)
	for n := range events {
		version++
		i := c.r.IntN(len(live) + 1)
		switch {
		case i == len(live) || n == events-1: // the last event can be awaited
			o := c.newObject(fmt.Sprintf("late%d", version), version)
			live = append(live, o)
			c.Events = append(c.Events, Event{"ADDED", o})
		case c.r.IntN(3) == 0:
			o := live[i].DeepCopyObject().(object.Object)
			o.SetResourceVersion(strconv.Itoa(version))
			live = slices.Delete(live, i, i+1)
			c.Events = append(c.Events, Event{"DELETED", o})
		default:
			live[i] = c.newObject(live[i].GetName(), version)
			c.Events = append(c.Events, Event{"MODIFIED", live[i]})
		}
	}
}

// Last returns the objects after the events, by name.
func (c *Case) Last() []object.Object {
	live := map[string]object.Object{}
	for _, o := range c.First {
		live[o.GetName()] = o
	}
	for _, e := range c.Events {
		if live[e.Object.GetName()] = e.Object; e.Type == "DELETED" {
			delete(live, e.Object.GetName())
		}
	}
	var all []object.Object
	for _, o := range live {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b object.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all
}

// Namespace is that of all objects.
const Namespace = "sizes"

func (c *Case) newObject(name string, version int) object.Object {
	o := c.New(name, Largest)
	o.SetUID(types.UID("uid-" + name))
	o.SetResourceVersion(strconv.Itoa(version))
	return o
}

// New returns an object of the kind, with at most largest bytes of content and nothing that a server sets.
func (c *Case) New(name string, largest int) object.Object {
	return newOf(c.r, c.GVK, name, size(c.r, largest))
}

// newOf returns an object of one of the kinds, with about n bytes of content. Where they are is drawn.
func newOf(r *rand.Rand, gvk schema.GroupVersionKind, name string, n int) object.Object {
	where := r.IntN(5)
	meta := metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: map[string]string{"app": name}}
	switch {
	case where == 0 && n < 200<<10: // the most that an API server takes
		meta.Annotations = map[string]string{"note": text(r, n)}
		n = 0
	case where == 1:
		meta.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "test", Operation: "Update", APIVersion: gvk.GroupVersion().String(), FieldsType: "FieldsV1", FieldsV1: fieldsv1.New(fields(n)),
		}}
		n = 0
	}
	if gvk == Things {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": values(r, n, where)}}
		u.SetGroupVersionKind(gvk)
		u.SetNamespace(meta.Namespace)
		u.SetName(meta.Name)
		u.SetLabels(meta.Labels)
		u.SetAnnotations(meta.Annotations)
		u.SetManagedFields(meta.ManagedFields)
		return u
	}
	m := &corev1.ConfigMap{ObjectMeta: meta}
	switch where {
	case 2:
		m.BinaryData = map[string][]byte{"content": []byte(text(r, n*3/4))}
	case 3:
		m.Data = map[string]string{"a": text(r, n/2), "b": text(r, n-n/2)}
	case 4:
		m.Data = map[string]string{}
		for i := range n / 100 {
			m.Data[fmt.Sprintf("key-%05d", i)] = text(r, 85)
		}
	default:
		m.Data = map[string]string{"content": text(r, n)}
	}
	return m
}

// values are about n bytes of JSON values.
func values(r *rand.Rand, n, where int) map[string]any {
	if where < 3 {
		return map[string]any{"text": text(r, n), "count": int64(n), "on": true}
	}
	var list []any
	for i := range n / 100 {
		list = append(list, map[string]any{"name": text(r, 60), "number": int64(i), "rate": 0.5, "none": nil})
	}
	return map[string]any{"list": list}
}

// text returns n bytes of UTF-8. A part of it is long in JSON.
func text(r *rand.Rand, n int) string {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ."
	special := []string{`"`, `\`, "\n", "\t", "<", "&", "é", "世界", "🙂", "\u2028", "\x01"}
	var b strings.Builder
	b.Grow(n)
	for b.Len() < n {
		if s := special[r.IntN(len(special))]; r.IntN(8) == 0 && b.Len()+len(s) <= n {
			b.WriteString(s)
		}
		from := r.IntN(len(plain))
		b.WriteString(plain[from:min(len(plain), from+n-b.Len())])
	}
	return b.String()
}

// fields are about n bytes of managed fields.
func fields(n int) string {
	var b strings.Builder
	b.WriteString(`{"f:data":{".":{}`)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `,"f:key-%05d":{}`, i)
	}
	return b.String() + "}}"
}
