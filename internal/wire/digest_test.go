package wire_test

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

func scan(t testing.TB, r wire.Raw) wire.Digest {
	t.Helper()
	_, d, err := r.Scan()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// partsOf are what the digests of an object are of.
func partsOf(o object.Object) (spec, status any) {
	switch o := o.(type) {
	case *corev1.Pod:
		return o.Spec, o.Status
	case *appsv1.Deployment:
		return o.Spec, o.Status
	case *corev1.ConfigMap:
		return [3]any{o.Data, o.BinaryData, o.Immutable}, nil
	case *corev1.Namespace:
		return o.Spec, o.Status
	}
	panic("no such kind here")
}

// Two states of an object, of which one is the other with some parts written anew: each digest is
// the same if and only if the decoded part is.
func TestDigestsEqualWhereDecodedPartsAre(t *testing.T) {
	kinds := []struct {
		kind *wire.Kind
		new  func() object.Object
	}{
		{pods, func() object.Object { return new(corev1.Pod) }},
		{deploy, func() object.Object { return new(appsv1.Deployment) }},
		{maps, func() object.Object { return new(corev1.ConfigMap) }},
		{&wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Namespace"), Scheme: types}, func() object.Object { return new(corev1.Namespace) }},
	}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		rapid.Check(t, func(rt *rapid.T) {
			k := rapid.SampledFrom(kinds).Draw(rt, "kind")
			random := randomObjects(rapid.Int64().Draw(rt, "seed"))
			was := k.new()
			random.Fill(was)
			is := was.DeepCopyObject().(object.Object)
			is.SetResourceVersion("other")
			change(rt, random, is)
			a, b := raw(t, enc, k.kind, was), raw(t, enc, k.kind, is)
			x, y := scan(t, a), scan(t, b)
			if err := a.Decode(was); err != nil {
				rt.Fatal(err)
			}
			if err := b.Decode(is); err != nil {
				rt.Fatal(err)
			}
			check := func(part string, x, y uint64, was, is any) {
				if want := reflect.DeepEqual(was, is); want != (x == y) {
					rt.Fatalf("%s: digests equal: %v, decoded: %v\n%+v\n%+v", part, x == y, want, was, is)
				}
			}
			check("labels", x.Labels, y.Labels, was.GetLabels(), is.GetLabels())
			check("annotations", x.Annotations, y.Annotations, was.GetAnnotations(), is.GetAnnotations())
			spec, status := partsOf(was)
			spec2, status2 := partsOf(is)
			check("spec", x.Spec, y.Spec, spec, spec2)
			check("status", x.Status, y.Status, status, status2)
		})
	})
}

// change writes some parts of an object anew.
func change(t *rapid.T, random *randfill.Filler, o object.Object) {
	if rapid.Bool().Draw(t, "labels") {
		o.SetLabels(map[string]string{rapid.String().Draw(t, "name"): rapid.String().Draw(t, "value")})
	}
	if rapid.Bool().Draw(t, "annotations") {
		o.SetAnnotations(rapid.SampledFrom([]map[string]string{nil, {}, {"a": ""}, {"": "a"}, {"a": "b", "c": "d"}}).Draw(t, "map"))
	}
	spec, status := rapid.Bool().Draw(t, "spec"), rapid.Bool().Draw(t, "status")
	switch o := o.(type) {
	case *corev1.Pod:
		if spec {
			random.Fill(&o.Spec)
		}
		if status {
			o.Status.Message += "!"
		}
	case *appsv1.Deployment:
		if spec {
			o.Spec.Paused = !o.Spec.Paused
		}
		if status {
			random.Fill(&o.Status)
		}
	case *corev1.ConfigMap:
		if spec {
			random.Fill(&o.Data)
		}
		if status {
			o.BinaryData = map[string][]byte{"a": {1}}
		}
	case *corev1.Namespace:
		if spec {
			random.Fill(&o.Spec)
		}
	}
}

func TestScanIsHeader(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		for seed := range int64(200) {
			in := new(corev1.Pod)
			randomObjects(seed).Fill(in)
			r := raw(t, enc, pods, in)
			want, err := r.Header()
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := r.Scan()
			if err != nil {
				t.Fatal(err)
			}
			if d := diffHeaders(want, got); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	})
}

// marks says of two digests which parts are the same (=), differ (/) or are absent in the second (0).
func marks(a, b wire.Digest) string {
	mark := func(a, b uint64) string {
		switch {
		case b == 0:
			return "0"
		case a == b:
			return "="
		}
		return "/"
	}
	return mark(a.Labels, b.Labels) + mark(a.Annotations, b.Annotations) + mark(a.Spec, b.Spec) + mark(a.Status, b.Status)
}

func TestDigestOfJSON(t *testing.T) {
	const base = `{"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"y":"1"}},"spec":{"a":1},"status":{"b":2}}`
	for _, c := range []struct{ name, in, want string }{
		{"space outside", ` { "metadata" : {"annotations":{"y":"1"}, "labels" : {"x":"1"},"name":"b"}, "status" : {"b":2} , "spec" : {"a":1}}`, "===="},
		{"members beside the spec", `{"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"y":"1"}},"spec":{"a":1},"data":{"a":1},"status":{"b":2}}`, "===="},
		{"labels", `{"metadata":{"name":"a","labels":{"x":"2"},"annotations":{"y":"1"}},"spec":{"a":1},"status":{"b":2}}`, "/==="},
		{"annotations", `{"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"y":"2"}},"spec":{"a":1},"status":{"b":2}}`, "=/=="},
		{"spec", `{"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"y":"1"}},"spec":{"a":2},"status":{"b":2}}`, "==/="},
		{"status", `{"metadata":{"name":"a","labels":{"x":"1"},"annotations":{"y":"1"}},"spec":{"a":1},"status":{"b":3}}`, "===/"},
		{"nothing", `{"metadata":{"name":"a"}}`, "0000"},
		{"null", `{"metadata":{"name":"a","labels":null,"annotations":null},"spec":null,"status":null}`, "0000"},
		{"empty", `{"metadata":{"name":"a","labels":{},"annotations":{}},"spec":{},"status":{}}`, "00//"},
		{"the last of equal names", `{"metadata":{"labels":{"q":"1"},"annotations":{"q":"1"}},"spec":1,"spec":{"a":1},"status":null,"status":{"b":2},` +
			`"metadata":{"name":"a","labels":{"z":"1"},"labels":{"x":"1"},"annotations":{"y":"1"}}}`, "===="},
		{"the last metadata has none", `{"metadata":{"labels":{"x":"1"},"annotations":{"y":"1"}},"metadata":{"name":"a"},"spec":{"a":1}}`, "00=0"},
		{"no spec", `{"metadata":{"name":"a"},"data":{"a":1}}`, "00/0"},
		{"only null beside the status", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"data":null,"status":{"b":2}}`, "000="},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(base)}, wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(c.in)}
			if got := marks(scan(t, a), scan(t, b)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The content of an object without a spec counts as its spec.
func TestDigestOfJSONWithoutSpec(t *testing.T) {
	of := func(rest string) uint64 {
		return scan(t, wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("a", rest)}).Spec
	}
	data := of(`,"data":{"a":"1"}`)
	for in, same := range map[string]bool{
		`,"data":{"a":"1"},"status":{"x":1}`:    true,
		`,"data":{"a":"1"},"spec":null`:         true,
		`,"d\u0061ta":{"a":"1"}`:                true,
		`,"data":{"a":"2"}`:                     false,
		`,"date":{"a":"1"}`:                     false,
		`,"data":{"a":"1"},"more":{}`:           false,
		`,"data":{"a":"1"},"spec":{"data":"1"}`: false,
		`,"spec":{"a":"1"}`:                     false,
		``:                                      false,
	} {
		if got := of(in); (got == data) != same {
			t.Errorf("%s: the same digest: %v, want %v", in, got == data, same)
		}
	}
	if of(`,"a":1,"b":2`) == of(`,"a":2,"b":1`) {
		t.Error("values that change places go unnoticed")
	}
}

// What stands beside a spec counts as the rest.
func TestDigestOfTheRest(t *testing.T) {
	of := func(rest string) wire.Digest {
		return scan(t, wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("a", rest)})
	}
	a, b, alone := of(`,"spec":{"a":1},"data":1`), of(`,"spec":{"a":1},"data":2`), of(`,"spec":{"a":1},"status":{}`)
	if a.Spec != b.Spec || a.Rest == b.Rest || a.Rest == 0 || alone.Rest != 0 || of(`,"data":1`).Rest != 0 {
		t.Errorf("%+v, %+v, %+v", a, b, alone)
	}
	pod := func(b []byte) wire.Raw { return wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: b} }
	meta := msg(1, "a")
	a, b, alone = scan(t, pod(msg(1, meta, 2, msg(1, "s"), 9, "x"))), scan(t, pod(msg(1, meta, 2, msg(1, "s"), 9, "y"))), scan(t, pod(msg(1, meta, 2, msg(1, "s"), 3, msg(1, "t"))))
	if a.Spec != b.Spec || a.Rest == b.Rest || a.Rest == 0 || alone.Rest != 0 {
		t.Errorf("protobuf: %+v, %+v, %+v", a, b, alone)
	}
}

func TestDigestOfProtobuf(t *testing.T) {
	label := func(k, v string) []byte { return msg(1, k, 2, v) }
	pod := func(b []byte) wire.Raw { return wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: b} }
	base := scan(t, pod(msg(1, msg(1, "a", 11, label("x", "1"), 12, label("y", "1")), 2, msg(1, "s"), 3, msg(1, "t"))))
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"unknown fields", msg(1, msg(1, "b", 11, label("x", "1"), 12, label("y", "1"), 90, "n"), 2, msg(1, "s"), 3, msg(1, "t"), 90, "n"), "===="},
		{"metadata in two parts", msg(1, msg(1, "b", 11, label("x", "1")), 2, msg(1, "s"), 3, msg(1, "t"), 1, msg(12, label("y", "1"))), "===="},
		{"another label", msg(1, msg(1, "a", 11, label("x", "1"), 11, label("z", "1"), 12, label("y", "1")), 2, msg(1, "s"), 3, msg(1, "t")), "/==="},
		{"labels apart", msg(1, msg(1, "a", 11, label("x", "1"), 12, label("y", "1"), 11, label("x", "2")), 2, msg(1, "s"), 3, msg(1, "t")), "/==="},
		{"a label as an annotation", msg(1, msg(1, "a", 12, label("x", "1"), 12, label("y", "1")), 2, msg(1, "s"), 3, msg(1, "t")), "0/=="},
		{"spec", msg(1, msg(1, "a", 11, label("x", "1"), 12, label("y", "1")), 2, msg(1, "S"), 3, msg(1, "t")), "==/="},
		{"spec in two parts", msg(1, msg(1, "a", 11, label("x", "1"), 12, label("y", "1")), 2, msg(1, "s"), 3, msg(1, "t"), 2, msg(2, "s")), "==/="},
		{"status", msg(1, msg(1, "a", 11, label("x", "1"), 12, label("y", "1")), 2, msg(1, "s"), 3, msg(1, "T")), "===/"},
		{"nothing", msg(1, msg(1, "a")), "0000"},
		{"empty parts", msg(1, msg(1, "a"), 2, "", 3, ""), "00//"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := marks(base, scan(t, pod(c.in))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	order := func(first, second string) uint64 {
		return scan(t, pod(msg(1, msg(1, "a", 11, label("x", first), 12, label("y", "1"), 11, label("x", second))))).Labels
	}
	if order("1", "2") == order("2", "1") {
		t.Error("which of two labels of a name wins goes unnoticed")
	}
}

func TestDigestWithoutParts(t *testing.T) {
	in := msg(1, msg(1, "a", 11, msg(1, "x"), 12, msg(1, "y")), 2, "data", 3, "binary")
	for _, c := range []struct {
		name string
		kind *wire.Kind
		want string
	}{
		{"a kind without a spec", maps, "==/0"},
		{"no Go type", &wire.Kind{GVK: pods.GVK}, "==/0"},
		{"no kind", nil, "==/0"},
		{"metadata only", &wire.Kind{GVK: pods.GVK, Scheme: types, MetadataOnly: true}, "==00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := scan(t, wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: in})
			got := scan(t, wire.Raw{Kind: c.kind, Encoding: wire.Protobuf, Bytes: in})
			if got := marks(pod, got); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	only := wire.Raw{Kind: &wire.Kind{GVK: things.GVK, MetadataOnly: true}, Encoding: wire.JSON, Bytes: thing("a", `,"spec":{},"status":{}`)}
	if d := scan(t, only); d != (wire.Digest{}) {
		t.Errorf("metadata as JSON has %+v", d)
	}
}

func TestDigestOfBadObjects(t *testing.T) {
	for _, r := range []wire.Raw{
		{Kind: pods, Encoding: wire.Protobuf, Bytes: append(msg(1, msg(1, "a"), 2, "s"), 0x1a, 0x7f)},
		{Kind: pods, Encoding: wire.Protobuf, Bytes: msg(2, "s")},
		{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a"},"spec":{},"status":`)},
		{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"spec":{}}`)},
		{Kind: pods, Bytes: []byte(`{}`)},
	} {
		_, want := r.Header()
		h, d, err := r.Scan()
		if err == nil || err.Error() != want.Error() || d != (wire.Digest{}) || !reflect.DeepEqual(h, object.Header{}) {
			t.Errorf("%q: %+v, %+v, %v; want %v", r.Bytes, h, d, err, want)
		}
	}
}

// An event has neither spec nor status: all of its content is its spec.
func TestDigestOfEvent(t *testing.T) {
	kind := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Event"), Scheme: types}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Message: "one"}
		was := scan(t, raw(t, enc, kind, e))
		e.Count = 2
		is := scan(t, raw(t, enc, kind, e))
		if was.Spec == is.Spec || was.Status != 0 || is.Status != 0 {
			t.Errorf("%+v, then %+v", was, is)
		}
	})
}
