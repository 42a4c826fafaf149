package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Every parser has a fuzz target, most of them one for each encoding:
//
//	FuzzListProtobuf    FuzzListJSON     list splitter
//	FuzzWatchProtobuf   FuzzWatchJSON    watch frames
//	FuzzHeaderProtobuf  FuzzHeaderJSON   header scan, beside the decoder
//	FuzzPathProtobuf    FuzzPathJSON     values of field paths, beside the decoder
//	FuzzProjectProtobuf FuzzProjectJSON  views, beside the decoder
//	FuzzCutProtobuf     FuzzCutJSON      CutManagedFields, beside the decoder
//	FuzzPathSyntax      FuzzParseObject
//
// Run them with -fuzzminimizetime=10x: the seeds are whole objects, and shrinking each find takes
// longer than finding it.

var fuzzLimits = wire.Limits{Frame: 1 << 20}

// streamError fails unless an error is one of those that the package comment names.
func streamError(t *testing.T, err error) {
	t.Helper()
	for _, target := range []any{
		new(*wire.SyntaxError), new(*wire.TruncatedError), new(*wire.TooLargeError), new(*wire.KindError), new(*wire.StatusError),
		new(*wire.EventTypeError), new(*wire.DecodeError),
	} {
		if errors.As(err, target) {
			return
		}
	}
	t.Fatalf("an error without a type: %T %v", err, err)
}

func fuzzList(f *testing.F, enc wire.Encoding, kind *wire.Kind) {
	f.Fuzz(func(t *testing.T, in []byte) {
		raws, _, bad, err := drain(t, bytes.NewReader(in), contentType(enc), kind, fuzzLimits)
		if err != nil {
			streamError(t, err)
		}
		for _, err := range bad {
			streamError(t, err)
		}
		total := 0
		for _, r := range raws {
			total += len(r.Bytes)
			if _, err := r.Header(); err != nil {
				streamError(t, err)
			}
		}
		if total > len(in) {
			t.Fatalf("%d bytes of objects in %d", total, len(in))
		}
		// Where the body is read in other portions, the result is the same.
		again, _, _, err2 := drain(t, &portions{b: in}, contentType(enc), kind, fuzzLimits)
		if len(again) != len(raws) || (err == nil) != (err2 == nil) {
			t.Fatalf("in portions: %d objects and %v, at once: %d and %v", len(again), err2, len(raws), err)
		}
		for i := range raws {
			if !bytes.Equal(raws[i].Bytes, again[i].Bytes) {
				t.Fatalf("object %d: %q, in portions %q", i, raws[i].Bytes, again[i].Bytes)
			}
		}
	})
}

// portions reads in pieces of 1, 2, 3, … bytes.
type portions struct {
	b []byte
	n int
}

func (p *portions) Read(into []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	p.n = p.n%7 + 1
	n := copy(into, p.b[:min(p.n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

func FuzzListProtobuf(f *testing.F) {
	f.Add(stock(f, wire.Protobuf, podList(1)))
	f.Add([]byte("k8s\x00" + string(msg(1, msg(1, "v1", 2, "PodList"), 2, msg(1, msg(2, "5", 3, "c", 4, 9), 2, msg(1, msg(1, "a")), 7, 8, 9, "skip"), 3, "", 4, ""))))
	f.Add(stock(f, wire.Protobuf, gone))
	fuzzList(f, wire.Protobuf, pods)
}

func FuzzListJSON(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"example.com/v1","items":[` + string(thing("a", "")) + `,` + string(thing("b", `,"x":[1]`)) + `],"kind":"ThingList","metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":4}}`))
	f.Add([]byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":410,"details":{}}`))
	f.Add([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`))
	fuzzList(f, wire.JSON, things)
}

func fuzzWatch(f *testing.F, enc wire.Encoding) {
	f.Fuzz(func(t *testing.T, in []byte) {
		frames, bad, err := drainWatch(t, bytes.NewReader(in), watchType(enc), pods, fuzzLimits)
		if err != nil {
			streamError(t, err)
		}
		for _, err := range bad {
			streamError(t, err)
		}
		for _, f := range frames {
			switch f.Type {
			case wire.Error:
				if f.Status == nil {
					t.Fatal("an error without a status")
				}
			case wire.Bookmark:
				if f.ResourceVersion == "" {
					t.Fatal("a bookmark without a version")
				}
			case wire.Added, wire.Modified, wire.Deleted:
				if _, err := f.Object.Header(); err != nil {
					streamError(t, err)
				}
			default:
				t.Fatalf("type %v", f.Type)
			}
		}
		again, bad2, err2 := drainWatch(t, &portions{b: in}, watchType(enc), pods, fuzzLimits)
		if len(again) != len(frames) || len(bad2) != len(bad) || (err == nil) != (err2 == nil) {
			t.Fatalf("in portions: %d frames and %v, at once: %d and %v", len(again), err2, len(frames), err)
		}
	})
}

func FuzzWatchProtobuf(f *testing.F) {
	in, _ := stockWatch(f, wire.Protobuf, story()...)
	f.Add(in)
	in, _ = stockWatch(f, wire.Protobuf, event{"BOOKMARK", bookmark("1", map[string]string{"a": "b"})}, event{"ERROR", gone})
	f.Add(in)
	fuzzWatch(f, wire.Protobuf)
}

func FuzzWatchJSON(f *testing.F) {
	in, _ := stockWatch(f, wire.JSON, story()[3:]...)
	f.Add(in)
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a"}}} {"object":{"kind":"Pod"},"type":"DELETED"}`))
	fuzzWatch(f, wire.JSON)
}

// smallPod is a Pod with every field that the header holds.
func smallPod() *corev1.Pod {
	p := typedPod(1)
	now := metav1.Unix(1700000000, 0)
	p.DeletionTimestamp = &now
	p.ManagedFields = p.ManagedFields[:1]
	p.Spec = corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	p.Status = corev1.PodStatus{Phase: "Running"}
	return p
}

// sameScan checks that Scan says what Header does, and the same digest each time.
func sameScan(t *testing.T, r wire.Raw, h object.Header, err error) {
	t.Helper()
	got, d, err2 := r.Scan()
	if diff := diffHeaders(h, got); diff != "" || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
		t.Fatalf("Header gives %v, Scan %v: %s", err, err2, diff)
	}
	if _, again, _ := (wire.Raw{Kind: r.Kind, Encoding: r.Encoding, Bytes: bytes.Clone(r.Bytes)}).Scan(); again != d {
		t.Fatalf("digests %+v, then %+v", d, again)
	}
	// Bytes that were checked are not checked again; if they are not what they should be, nothing
	// breaks.
	known, d2, err2 := r.Checked().Scan()
	if diff := diffHeaders(h, known); err == nil && (err2 != nil || d2 != d || diff != "") {
		t.Fatalf("checked before: %v, %+v, was %+v: %s", err2, d2, d, diff)
	}
	wire.CutManagedFields(nil, r.Checked())
}

// scanned returns the header of r. ok is false if r is about an object that cannot be used.
func scanned(t *testing.T, r wire.Raw) (got object.Header, ok bool) {
	t.Helper()
	got, err := r.Header()
	sameScan(t, r, got, err)
	if err != nil && !wire.IsObjectError(err) {
		t.Fatal(err)
	}
	return got, err == nil
}

func FuzzHeaderProtobuf(f *testing.F) {
	f.Add(raw(f, wire.Protobuf, pods, smallPod()).Bytes)
	f.Add(msg(1, msg(1, "a", 9, msg(1, 5)), 1, msg(1, "b", 13, msg(3, "o", 6, 1))))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: in}
		got, ok := scanned(t, r)
		if !ok {
			return
		}
		decoded := new(metav1.PartialObjectMetadata)
		if r.Decode(decoded) != nil {
			return // in a field that the header does not hold
		}
		if d := diffHeaders(headerOf(decoded), got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzHeaderJSON(f *testing.F) {
	f.Add(raw(f, wire.JSON, pods, smallPod()).Bytes)
	f.Add([]byte(`{"metadata":{"name":"a","name":"b","labels":null,"ownerReferences":[{"name":"o","controller":true},null]}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: in}
		got, ok := scanned(t, r)
		if !ok {
			return
		}
		if !utf8.Valid(in) {
			t.Fatal("invalid UTF-8 was accepted")
		}
		// The untyped decoder knows the last of equal names, the typed one is strict about types.
		content := map[string]any{}
		if err := json.Unmarshal(in, &content); err != nil {
			t.Fatalf("a header of what is no JSON: %v", err)
		}
		single, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		decoded := new(metav1.PartialObjectMetadata)
		if (wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: single}).Decode(decoded) != nil {
			return // in a field that the header does not hold, or a large number
		}
		if d := diffHeaders(headerOf(decoded), got); d != "" {
			t.Fatal(d)
		}
	})
}

func fuzzPath(f *testing.F, enc wire.Encoding) {
	f.Add(raw(f, enc, pods, smallPod()).Bytes)
	f.Add(raw(f, enc, pods, bigPod(1)).Bytes)
	f.Fuzz(func(t *testing.T, in []byte) {
		r := wire.Raw{Kind: pods, Encoding: enc, Bytes: in}
		decoded := new(corev1.Pod)
		if enc == wire.JSON {
			// Equal names are merged by the typed decoder; here the last one wins.
			content := map[string]any{}
			if json.Unmarshal(in, &content) != nil {
				for _, c := range podPaths {
					if _, err := compile(t, pods, c.path).Values(r); err == nil && utf8.Valid(in) {
						t.Fatalf("%s has values in what is no JSON", c.path)
					}
				}
				return
			}
			single, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			r.Bytes = single
		}
		good := r.Decode(decoded) == nil
		for _, c := range podPaths {
			got, err := compile(t, pods, c.path).Values(r)
			if err != nil {
				if !errors.As(err, new(*wire.DecodeError)) {
					t.Fatal(err)
				}
				continue
			}
			if want := c.want(decoded); good && !slices.Equal(want, got) {
				t.Fatalf("%s: got %q, want %q", c.path, got, want)
			}
		}
	})
}

func FuzzPathProtobuf(f *testing.F) { fuzzPath(f, wire.Protobuf) }
func FuzzPathJSON(f *testing.F)     { fuzzPath(f, wire.JSON) }

func FuzzPathSyntax(f *testing.F) {
	for _, c := range podPaths {
		f.Add(c.path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, kind := range []*wire.Kind{pods, things} {
			p, err := wire.CompilePath(kind.GoType(), path)
			if err != nil {
				if !errors.As(err, new(*wire.PathError)) {
					t.Fatal(err)
				}
				continue
			}
			r := wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a"},"spec":{"containers":[{}]}}`)}
			if _, err := p.Values(r); err != nil && !errors.As(err, new(*wire.DecodeError)) {
				t.Fatal(err)
			}
		}
	})
}

func FuzzCutProtobuf(f *testing.F) {
	f.Add(raw(f, wire.Protobuf, pods, smallPod()).Bytes)
	f.Add(msg(1, msg(17, "", 1, "a"), 1, msg(17, ""), 2, msg()))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := wire.Raw{Kind: pods, Encoding: wire.Protobuf, Bytes: in}
		cut := wire.CutManagedFields(nil, r)
		if len(cut.Bytes) > len(in) {
			t.Fatal("it grew")
		}
		want, got := new(corev1.Pod), new(corev1.Pod)
		if r.Decode(want) != nil {
			return
		}
		if err := cut.Decode(got); err != nil {
			t.Fatal(err)
		}
		want.ManagedFields = nil
		if len(got.ManagedFields) > 0 {
			return // a field that this package is stricter about: left alone
		}
		if d := diffObjects(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzCutJSON(f *testing.F) {
	f.Add(raw(f, wire.JSON, pods, smallPod()).Bytes)
	f.Add([]byte(`{"metadata":{"managedFields":1,"managedFields":2,"name":"a","managedFields":3},"metadata":{"managedFields":[]}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: in}
		cut := wire.CutManagedFields(nil, r)
		if known := wire.CutManagedFields(nil, r.Checked()); json.Valid(in) && utf8.Valid(in) && !bytes.Equal(known.Bytes, cut.Bytes) {
			t.Fatalf("checked before: %q, else %q", known.Bytes, cut.Bytes)
		}
		var want, got map[string]any
		if json.Unmarshal(in, &want) != nil || want == nil {
			if !bytes.Equal(cut.Bytes, in) && utf8.Valid(in) {
				t.Fatal("garbage was edited")
			}
			return
		}
		if err := json.Unmarshal(cut.Bytes, &got); err != nil {
			t.Fatalf("%s: %v", cut.Bytes, err)
		}
		if m, ok := want["metadata"].(map[string]any); ok {
			delete(m, "managedFields")
		}
		if d := diffObjects(&unstructured.Unstructured{Object: want}, &unstructured.Unstructured{Object: got}); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParseObject(f *testing.F) {
	for _, enc := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		f.Add(stock(f, enc, typedPod(1)), enc == wire.JSON)
		f.Add(stock(f, enc, gone), enc == wire.JSON)
	}
	f.Fuzz(func(t *testing.T, in []byte, isJSON bool) {
		enc := wire.Protobuf
		if isJSON {
			enc = wire.JSON
		}
		r, err := wire.ParseObject(in, contentType(enc), pods)
		if err != nil {
			streamError(t, err)
			return
		}
		if _, err := r.Header(); err != nil {
			streamError(t, err)
		}
	})
}
