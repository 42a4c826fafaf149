package weigh

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/scheme"
)

var (
	configMaps = resourceOf("", "v1", "configmaps", "ConfigMap", true)
	widgets    = resourceOf("example.com", "v1", "widgets", "Widget", true)
	nodes      = resourceOf("", "v1", "nodes", "Node", false)
)

func resourceOf(group, version, plural, kind string, namespaced bool) Resource {
	gv := schema.GroupVersion{Group: group, Version: version}
	return Resource{GVK: gv.WithKind(kind), GVR: gv.WithResource(plural), Namespaced: namespaced}
}

// configMap returns number i of many like it, with managedFields.
func configMap(i int) *corev1.ConfigMap {
	fields := `{"f:data":{".":{},"f:first":{},"f:second":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", i%3), Name: fmt.Sprintf("map-%05d", i), ResourceVersion: fmt.Sprint(1000 + i),
			UID: types.UID(fmt.Sprintf("00000000-0000-4000-a000-%012d", i)), Labels: map[string]string{"app": "shop"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: fieldsv1.New(string(fields))}},
		},
		Data: map[string]string{"first": strings.Repeat("a line of text\n", 20), "second": fmt.Sprint("number ", i)},
	}
}

func protobuf(t testing.TB, k *wire.Kind, o interface{ Marshal() ([]byte, error) }) wire.Raw {
	t.Helper()
	b, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return wire.Raw{Kind: k, Encoding: wire.Protobuf, Bytes: b}
}

// near fails unless two figures differ by at most a part.
func near(t *testing.T, what string, got, want int64, part float64) {
	t.Helper()
	if math.Abs(float64(got-want)) > part*float64(want) {
		t.Errorf("%s: %d, want %d within %.0f %%", what, got, want, 100*part)
	}
}

func TestFigures(t *testing.T) {
	k := &wire.Kind{GVK: configMaps.GVK, Scheme: scheme.New()}
	s := NewScale(configMaps, k)
	const n = 3000
	var sent, cut int64
	for i := range n {
		o := configMap(i)
		raw := protobuf(t, k, o)
		sent += int64(len(raw.Bytes))
		o.ManagedFields = nil
		cut += int64(len(protobuf(t, k, o).Bytes))
		s.Add(raw)
		clear(raw.Bytes) // the memory of a page is used again
	}
	f, problems := s.End()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if f.Objects != n || f.Rejected != 0 || f.Wire != sent || f.ManagedFields != sent-cut {
		t.Errorf("%+v: want %d objects, %d bytes, %d of managedFields", f, n, sent, sent-cut)
	}
	if f.Sampled < 100 || f.Sampled > maxSample {
		t.Errorf("%d objects were decoded", f.Sampled)
	}
	if f.Packed < n*20 || f.Packed > cut/3 {
		t.Errorf("packed: %d bytes of %d", f.Packed, cut)
	}
	if f.PackedWhole < n*20 || f.PackedWhole > sent/3 {
		t.Errorf("packed with managedFields: %d bytes of %d", f.PackedWhole, sent)
	}
}

// TestStructs compares what the structs take with what all objects take if they are decoded, measured by other means.
func TestStructs(t *testing.T) {
	tier.Audit(t, "measures the heap")
	k := &wire.Kind{GVK: configMaps.GVK, Scheme: scheme.New()}
	s := NewScale(configMaps, k)
	const n = 3000
	for i := range n {
		s.Add(protobuf(t, k, configMap(i)))
	}
	f, problems := s.End()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		what string
		got  int64
		keep bool
	}{{"structs", f.Structs, true}, {"structs without managedFields", f.StructsCut, false}} {
		all := make([]*corev1.ConfigMap, n)
		before := heapInUse()
		for i := range all {
			o := configMap(i)
			if !c.keep {
				o.ManagedFields = nil
			}
			b, err := o.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			all[i] = &corev1.ConfigMap{}
			if err := all[i].Unmarshal(b); err != nil {
				t.Fatal(err)
			}
		}
		near(t, c.what, c.got, int64(heapInUse()-before), 0.05)
		runtime.KeepAlive(all)
	}
}

// A custom resource is JSON, and unstructured in client-go. Lists of some servers omit its kind.
func TestUnstructured(t *testing.T) {
	k := &wire.Kind{GVK: widgets.GVK, Scheme: scheme.New()}
	s := NewScale(widgets, k)
	var sent int64
	for i := range 50 {
		o := configMap(i)
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		sent += int64(len(b))
		s.Add(wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: b})
	}
	f, problems := s.End()
	if len(problems) > 0 || f.Objects != 50 || f.Wire != sent || f.Sampled != 50 || f.ManagedFields < sent/5 {
		t.Errorf("%+v, %v", f, problems)
	}
	if tier.InAudit() && (f.Structs < 3*sent/2 || f.StructsCut > f.Structs*3/4) { // measures the heap
		t.Errorf("structs: %d bytes, %d without managedFields, of %d", f.Structs, f.StructsCut, sent)
	}
}

// What cannot be read is named, up to a number, and left out. What cannot be decoded is named, too.
func TestUnreadable(t *testing.T) {
	k := &wire.Kind{GVK: configMaps.GVK, Scheme: scheme.New()}
	s := NewScale(configMaps, k)
	good := protobuf(t, k, configMap(1))
	s.Add(good)
	for range 3 {
		s.Add(wire.Raw{Kind: k, Encoding: wire.Protobuf, Bytes: []byte("\xff\xff")})
	}
	f, problems := s.End()
	if f.Objects != 1 || f.Rejected != 3 || f.Wire != int64(len(good.Bytes)) || len(problems) != 3 {
		t.Errorf("%+v, %v", f, problems)
	}
	wk := &wire.Kind{GVK: configMaps.GVK, Scheme: scheme.New()}
	s = NewScale(configMaps, wk)
	for i := range 5 {
		s.Add(wire.Raw{Kind: wk, Encoding: wire.JSON, Bytes: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m%d"},"data":7}`, i)})
	}
	f, problems = s.End()
	if f.Objects != 5 || f.Sampled != 0 || f.Structs != 0 || len(problems) != 4 {
		t.Fatalf("%+v, %v", f, problems)
	}
	if text := problems[0].Error(); !strings.Contains(text, "ConfigMap m0 cannot be decoded") {
		t.Error(text)
	}
	if text := problems[3].Error(); text != "2 more objects of kind ConfigMap are like that" {
		t.Error(text)
	}
}

func TestNothing(t *testing.T) {
	f, problems := NewScale(nodes, &wire.Kind{GVK: nodes.GVK, Scheme: scheme.New()}).End()
	if f != (Figures{}) || problems != nil {
		t.Errorf("%+v, %v", f, problems)
	}
}

// A sample is spread evenly over the objects, and bounded in number and bytes.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		size  func(i int) int
		least int
	}{
		{"none", 0, nil, 0},
		{"one", 1, func(int) int { return 10 }, 1},
		{"few", 300, func(int) int { return 10 }, 300},
		{"many", 100_000, func(int) int { return 10 }, maxSample / 2},
		{"large", 1000, func(int) int { return 64 << 10 }, 10},
		{"huge", 20, func(int) int { return 2 * maxSampleBytes }, 1},
		{"a huge one first", 1000, func(i int) int {
			if i == 0 {
				return 2 * maxSampleBytes
			}
			return 1000
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s sample
			buf := make([]byte, 2*maxSampleBytes)
			for i := range c.n {
				b := buf[:c.size(i)]
				copy(b, fmt.Sprintf("%-8d", i))
				s.offer(wire.Raw{Bytes: b})
			}
			if s.seen != c.n || len(s.raws) < c.least || len(s.raws) > maxSample {
				t.Fatalf("%d of %d objects", len(s.raws), s.seen)
			}
			bytes := 0
			for i, raw := range s.raws {
				bytes += len(raw.Bytes)
				if got, want := strings.TrimSpace(string(raw.Bytes[:8])), fmt.Sprint(i*s.step); got != want {
					t.Fatalf("object %d of the sample is %s, want %s", i, got, want)
				}
			}
			if bytes != s.bytes || bytes > maxSampleBytes && len(s.raws) > 1 {
				t.Errorf("%d bytes, counted as %d", bytes, s.bytes)
			}
			if last := (len(s.raws) - 1) * s.step; c.n > 0 && last+s.step < c.n {
				t.Errorf("nothing after object %d of %d", last, c.n)
			}
		})
	}
}
