package predicate_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

// sample is a kind in one encoding, with functions that make and change its objects.
type sample struct {
	name string
	kind *wire.Kind
	enc  wire.Encoding
	new  func(*rapid.T) object.Object
	// change changes the spec, the status, the part in place of the spec, or nothing.
	change func(*rapid.T, object.Object)
	// parts returns the spec, or the part in its place, and the status.
	parts func(object.Object) (spec, status any)
}

var text = rapid.StringMatching("[ab]?")

func samples() []sample {
	known := scheme.New()
	newPod := func(t *rapid.T) object.Object {
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: text.Draw(t, "node")}}
	}
	changePod := func(t *rapid.T, o object.Object) {
		p := o.(*corev1.Pod)
		p.Spec.NodeName = text.Draw(t, "node")
		p.Status.Message = text.Draw(t, "message")
	}
	podParts := func(o object.Object) (any, any) { return o.(*corev1.Pod).Spec, o.(*corev1.Pod).Status }
	newMap := func(*rapid.T) object.Object { return &corev1.ConfigMap{} }
	changeMap := func(t *rapid.T, o object.Object) {
		m := o.(*corev1.ConfigMap)
		m.Data = map[string]string{"k": text.Draw(t, "value")}
		if rapid.Bool().Draw(t, "binary") {
			m.BinaryData = map[string][]byte{"b": {1}}
		}
	}
	mapParts := func(o object.Object) (any, any) {
		m := o.(*corev1.ConfigMap)
		return [2]any{m.Data, m.BinaryData}, nil
	}
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	newThing := func(*rapid.T) object.Object {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(thing)
		return u
	}
	changeThing := func(t *rapid.T, o object.Object) {
		u := o.(*unstructured.Unstructured).Object
		for _, name := range []string{"spec", "status"} {
			if rapid.Bool().Draw(t, name) {
				u[name] = map[string]any{"x": text.Draw(t, "x")}
			}
		}
	}
	thingParts := func(o object.Object) (any, any) {
		u := o.(*unstructured.Unstructured).Object
		return u["spec"], u["status"]
	}
	podKind := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Scheme: known}
	mapKind := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Scheme: known}
	return []sample{
		{"Pod", podKind, wire.Protobuf, newPod, changePod, podParts},
		{"Pod", podKind, wire.JSON, newPod, changePod, podParts},
		{"ConfigMap", mapKind, wire.Protobuf, newMap, changeMap, mapParts},
		{"ConfigMap", mapKind, wire.JSON, newMap, changeMap, mapParts},
		{"Thing", &wire.Kind{GVK: thing}, wire.JSON, newThing, changeThing, thingParts},
	}
}

func (s sample) entry(t *rapid.T, o object.Object) *store.Entry {
	var b []byte
	var err error
	if s.enc == wire.Protobuf {
		b, err = o.(interface{ Marshal() ([]byte, error) }).Marshal()
	} else {
		b, err = json.Marshal(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := store.NewEntry(wire.Raw{Kind: s.kind, Encoding: s.enc, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// decoded returns the object of an entry.
func (s sample) decoded(t *rapid.T, e *store.Entry) object.Object {
	into := s.new(t)
	if err := e.Decode(into); err != nil {
		t.Fatal(err)
	}
	return into
}

// Each predicate judges a change as the decoded objects do. The entries are as received, or from a
// store, which packs them.
func TestPredicatesAgreeWithDecodedObjects(t *testing.T) {
	deleted := metav1.Unix(100, 0)
	owners := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) metav1.OwnerReference {
		return metav1.OwnerReference{
			APIVersion: "v1", Kind: "Job", Name: text.Draw(t, "owner"), UID: types.UID(text.Draw(t, "uid")),
			Controller: new(rapid.Bool().Draw(t, "controller")),
		}
	}), 0, 3)
	for _, s := range samples() {
		t.Run(fmt.Sprint(s.name, " ", s.enc), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				meta := func(o object.Object, version string) {
					o.SetName("a")
					o.SetUID("u")
					o.SetResourceVersion(version)
					o.SetGeneration(int64(rapid.IntRange(1, 2).Draw(t, "generation")))
					labels := rapid.MapOfN(rapid.SampledFrom([]string{"x", "y"}), text, 0, 2)
					o.SetLabels(labels.Draw(t, "labels"))
					o.SetAnnotations(labels.Draw(t, "annotations"))
					o.SetOwnerReferences(owners.Draw(t, "owners"))
					if rapid.Bool().Draw(t, "deleted") {
						o.SetDeletionTimestamp(&deleted)
					}
				}
				was := s.new(t)
				meta(was, "1")
				s.change(t, was)
				is := was.DeepCopyObject().(object.Object)
				meta(is, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version"))
				s.change(t, is)

				old, new := s.entry(t, was), s.entry(t, is)
				if rapid.Bool().Draw(t, "packed") {
					old, new = throughStore(t, old), throughStore(t, new)
				}
				was, is = s.decoded(t, old), s.decoded(t, new)
				spec, status := s.parts(was)
				spec2, status2 := s.parts(is)
				has := func(m map[string]string, name string) string {
					v, ok := m[name]
					return fmt.Sprint(v, ok)
				}
				for name, c := range map[string]struct {
					p    predicate.Predicate
					want bool
				}{
					"generation":  {predicate.GenerationChanged(), was.GetGeneration() != is.GetGeneration()},
					"version":     {predicate.ResourceVersionChanged(), was.GetResourceVersion() != is.GetResourceVersion()},
					"deletion":    {predicate.DeletionRequested(), (was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil)},
					"spec":        {predicate.SpecChanged(), !reflect.DeepEqual(spec, spec2)},
					"status":      {predicate.StatusChanged(), !reflect.DeepEqual(status, status2)},
					"owners":      {predicate.OwnersChanged(), !slices.Equal(old.Header().Owners, new.Header().Owners)},
					"labels":      {predicate.LabelsChanged(), !reflect.DeepEqual(was.GetLabels(), is.GetLabels())},
					"annotations": {predicate.AnnotationsChanged(), !reflect.DeepEqual(was.GetAnnotations(), is.GetAnnotations())},
					"label x":     {predicate.LabelsChanged("x"), has(was.GetLabels(), "x") != has(is.GetLabels(), "x")},
					"annotation y": {predicate.AnnotationsChanged("z", "y"),
						has(was.GetAnnotations(), "y") != has(is.GetAnnotations(), "y")},
				} {
					got, err := c.p.Match(store.Change{Key: old.Header().Key, Old: old, New: new})
					if err != nil || got != c.want {
						t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
					}
				}
			})
		})
	}
}

// throughStore returns an entry as a store returns it.
func throughStore(t *rapid.T, e *store.Entry) *store.Entry {
	s := store.New(store.Options{})
	txn := s.Begin()
	txn.Put(e)
	txn.Commit()
	out, ok := s.Snapshot().Lookup(e.Header().Key)
	if !ok {
		t.Fatal("the store has lost it")
	}
	return out
}

// A watch of metadata only does not know spec and status: updates pass. Updates of an object known
// to have neither do not pass.
func TestMetadataOnlyUpdatesPass(t *testing.T) {
	for _, only := range []bool{false, true} {
		kind := &wire.Kind{GVK: podKind.GVK, Scheme: runtime.NewScheme(), MetadataOnly: only}
		at := func(version string) *store.Entry {
			return entryOf(t, wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":%q,"labels":{"a":"b"}}}`, version)})
		}
		c := store.Change{Old: at("1"), New: at("2")}
		for name, p := range map[string]predicate.Predicate{"spec": predicate.SpecChanged(), "status": predicate.StatusChanged()} {
			if got, err := p.Match(c); err != nil || got != only {
				t.Errorf("metadata only %v: %s: %v, %v", only, name, got, err)
			}
		}
		if got, err := predicate.LabelsChanged().Match(c); err != nil || got {
			t.Errorf("labels: %v, %v", got, err)
		}
	}
}

// No predicate decodes, or builds a header if digests decide.
func BenchmarkChanged(b *testing.B) {
	kind := &wire.Kind{GVK: podKind.GVK, Scheme: scheme.New()}
	of := func(version string) *store.Entry {
		p := pod()
		p.ResourceVersion = version
		random := rand.New(rand.NewSource(1))
		for i := range 200 {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprint(i), Image: fmt.Sprint(random.Int63())})
		}
		raw, err := p.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		return entryOf(b, wire.Raw{Kind: kind, Encoding: wire.Protobuf, Bytes: raw})
	}
	c := store.Change{Old: of("1"), New: of("2")}
	for name, p := range map[string]predicate.Predicate{
		"generation": predicate.GenerationChanged(), "spec": predicate.SpecChanged(), "labels": predicate.LabelsChanged(),
		"annotation": predicate.AnnotationsChanged("example.com/x"), "version": predicate.ResourceVersionChanged(),
		"owners": predicate.OwnersChanged(),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Match(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
