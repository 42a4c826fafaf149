package wire_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// drain reads a list to its end. Errors about one object are kept apart.
func drain(t testing.TB, in io.Reader, contentType string, kind *wire.Kind, lim wire.Limits) (raws []wire.Raw, meta wire.ListMeta, bad []error, err error) {
	t.Helper()
	l, err := wire.NewList(io.NopCloser(in), contentType, kind, lim)
	if err != nil {
		return nil, wire.ListMeta{}, nil, err
	}
	defer l.Close()
	raws, bad, err = toEnd(t, l.Next, wire.Raw.Clone)
	return raws, l.Meta(), bad, err
}

// toEnd calls next until an error that is not about one object. It returns nil for io.EOF.
func toEnd[T any](t testing.TB, next func() (T, error), clone func(T) T) (all []T, bad []error, err error) {
	t.Helper()
	for {
		one, err := next()
		switch {
		case err == nil:
			all = append(all, clone(one))
		case wire.IsObjectError(err):
			bad = append(bad, err)
		default:
			if _, again := next(); again != err {
				t.Errorf("the error does not stay: %v, then %v", err, again)
			}
			if err == io.EOF {
				err = nil
			}
			return all, bad, err
		}
	}
}

func podList(n int) *corev1.PodList {
	remaining := int64(42)
	l := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "12345", Continue: "tok", RemainingItemCount: &remaining},
	}
	for i := range n {
		l.Items = append(l.Items, *bigPod(i))
	}
	return l
}

func TestListOfStockSerializers(t *testing.T) {
	for _, s := range []struct {
		name        string
		contentType string
		s           runtime.Encoder
	}{
		{"protobuf", wire.ContentTypeProtobuf, stockProto},
		{"protobuf streamed", wire.ContentTypeProtobuf, protobuf.NewSerializerWithOptions(types, types, protobuf.SerializerOptions{StreamingCollectionsEncoding: true})},
		{"json", wire.ContentTypeJSON, stockJSON},
		{"json pretty", "application/json; charset=utf-8", kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, types, types, kjson.SerializerOptions{Pretty: true})},
		{"json streamed", wire.ContentTypeJSON, kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, types, types, kjson.SerializerOptions{StreamingCollectionsEncoding: true})},
	} {
		for _, n := range []int{0, 1, 7} {
			t.Run(s.name, func(t *testing.T) {
				list := podList(n)
				var buf bytes.Buffer
				if err := s.s.Encode(list, &buf); err != nil {
					t.Fatal(err)
				}
				raws, meta, bad, err := drain(t, iotest.OneByteReader(&buf), s.contentType, pods, wire.Limits{})
				if err != nil || len(bad) > 0 {
					t.Fatal(err, bad)
				}
				if meta.ResourceVersion != "12345" || meta.Continue != "tok" || meta.Remaining == nil || *meta.Remaining != 42 {
					t.Errorf("meta: %+v", meta)
				}
				if len(raws) != n {
					t.Fatalf("%d objects, want %d", len(raws), n)
				}
				for i, r := range raws {
					if len(r.Bytes) != cap(r.Bytes) {
						t.Errorf("object %d: %d bytes in %d", i, len(r.Bytes), cap(r.Bytes))
					}
					got := new(corev1.Pod)
					if err := r.Decode(got); err != nil {
						t.Fatal(err)
					}
					want := list.Items[i].DeepCopy()
					want.SetGroupVersionKind(pods.GVK)
					if s.name == "json pretty" { // which indents inside FieldsV1 too
						want.ManagedFields, got.ManagedFields = nil, nil
					}
					if d := diffObjects(want, got); d != "" {
						t.Error(d)
					}
				}
			})
		}
	}
}

func TestListMembersInAnyOrder(t *testing.T) {
	members := []string{
		`"apiVersion":"example.com/v1"`, `"kind":"ThingList"`,
		`"metadata":{"resourceVersion":"9","continue":"c"}`,
		`"items":[` + string(thing("a", "")) + ` , ` + string(thing("b", "")) + `]`,
		`"extra":{"deep":[1,2,{"x":null}]}`,
	}
	permute(members, func(m []string) {
		in := "{" + strings.Join(m, " ,\n") + "} \n"
		raws, meta, bad, err := drain(t, strings.NewReader(in), "application/json", things, wire.Limits{})
		if err != nil || len(bad) > 0 || len(raws) != 2 || meta.ResourceVersion != "9" || meta.Continue != "c" || meta.Remaining != nil {
			t.Fatalf("%s: %d objects, %+v, %v %v", in, len(raws), meta, bad, err)
		}
		if string(raws[1].Bytes) != string(thing("b", "")) {
			t.Errorf("got %s", raws[1].Bytes)
		}
	})
}

func permute(s []string, do func([]string)) {
	var rec func(int)
	rec = func(i int) {
		if i == len(s) {
			do(s)
			return
		}
		for j := i; j < len(s); j++ {
			s[i], s[j] = s[j], s[i]
			rec(i + 1)
			s[i], s[j] = s[j], s[i]
		}
	}
	rec(0)
}

func TestListOfWrongKind(t *testing.T) {
	table := &metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, Rows: []metav1.TableRow{{Cells: []any{"a"}}}}
	services := &corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Items: []corev1.Service{{}}}
	pod := bigPod(1)
	pod.SetGroupVersionKind(pods.GVK)
	for _, c := range []struct {
		name string
		in   []byte
		enc  wire.Encoding
		got  string
	}{
		{"Table", stock(t, wire.JSON, table), wire.JSON, "Table"},
		{"another list", stock(t, wire.JSON, services), wire.JSON, "ServiceList"},
		{"another list, protobuf", stock(t, wire.Protobuf, services), wire.Protobuf, "ServiceList"},
		{"one object", stock(t, wire.JSON, pod), wire.JSON, "Pod"},
		{"one object, protobuf", stock(t, wire.Protobuf, pod), wire.Protobuf, "Pod"},
		{"kind comes late", []byte(`{"apiVersion":"v1","items":[],"kind":"ServiceList"}`), wire.JSON, "ServiceList"},
		{"no kind", []byte(`{"items":[]}`), wire.JSON, ""},
		{"no kind, protobuf", []byte("k8s\x00" + string(msg(2, msg(1, msg(2, "5"))))), wire.Protobuf, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := drain(t, bytes.NewReader(c.in), contentType(c.enc), pods, wire.Limits{})
			var wrong *wire.KindError
			if !errors.As(err, &wrong) || wrong.Got.Kind != c.got || wrong.Want.Kind != "PodList" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestListOfMetadata(t *testing.T) {
	kind := &wire.Kind{GVK: pods.GVK, Scheme: types, MetadataOnly: true}
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		Items: []metav1.PartialObjectMetadata{{
			TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
			ObjectMeta: bigPod(1).ObjectMeta,
		}},
	}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in := stock(t, enc, list)
		raws, _, bad, err := drain(t, bytes.NewReader(in), contentType(enc), kind, wire.Limits{})
		if err != nil || len(bad) > 0 || len(raws) != 1 {
			t.Fatal(raws, bad, err)
		}
		if _, err := raws[0].Header(); err != nil {
			t.Error(err)
		}
		if _, _, _, err := drain(t, bytes.NewReader(in), contentType(enc), pods, wire.Limits{}); !errors.As(err, new(*wire.KindError)) {
			t.Errorf("whole objects were asked for: %v", err)
		}
	})
}

func TestListThatIsAStatus(t *testing.T) {
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonExpired, Code: 410,
		Message: "too old", Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "c"}}},
	}
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		_, _, _, err := drain(t, bytes.NewReader(stock(t, enc, status)), contentType(enc), pods, wire.Limits{})
		var got *wire.StatusError
		if !errors.As(err, &got) {
			t.Fatal(err)
		}
		if d := diffObjects(status, &got.Status); d != "" {
			t.Error(d)
		}
	})
}

func TestListCutAnywhere(t *testing.T) {
	list := podList(2)
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		whole := bytes.TrimSpace(stock(t, enc, list))
		end := len(whole)
		if enc == wire.Protobuf {
			end -= 4 // the envelope ends with two empty fields, which need not be there
		}
		for n := range end {
			raws, _, _, err := drain(t, bytes.NewReader(whole[:n]), contentType(enc), pods, wire.Limits{})
			var cut *wire.TruncatedError
			if !errors.As(err, &cut) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
			}
			for _, r := range raws {
				if _, err := r.Header(); err != nil {
					t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
				}
			}
		}
	})
}

func TestDamagedListIsAnError(t *testing.T) {
	for _, c := range []struct {
		name string
		enc  wire.Encoding
		in   string
	}{
		{"no magic", wire.Protobuf, "garbage, garbage"},
		{"JSON as protobuf", wire.Protobuf, `{"kind":"PodList","apiVersion":"v1","items":[]}`},
		{"group", wire.Protobuf, "k8s\x00\x0b\x0c"},
		{"item beyond the list", wire.Protobuf, "k8s\x00" + string(msg(1, msg(1, "v1", 2, "PodList"), 2, "\x12\x20a"))},
		{"items are a number", wire.Protobuf, "k8s\x00" + string(msg(1, msg(1, "v1", 2, "PodList"), 2, msg(2, 5)))},
		{"other content", wire.Protobuf, "k8s\x00" + string(msg(1, msg(1, "v1", 2, "PodList"), 2, msg(1, ""), 4, "application/json"))},
		{"HTML", wire.JSON, "<html>"},
		{"array", wire.JSON, "[]"},
		{"items are an object", wire.JSON, `{"kind":"PodList","apiVersion":"v1","items":{}}`},
		{"kind is a number", wire.JSON, `{"kind":1}`},
		{"metadata is a list", wire.JSON, `{"kind":"PodList","apiVersion":"v1","metadata":[]}`},
		{"two lists", wire.JSON, `{"kind":"PodList","apiVersion":"v1","items":[]}{}`},
		{"comma", wire.JSON, `{"kind":"PodList","apiVersion":"v1","items":[{},]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := drain(t, strings.NewReader(c.in), contentType(c.enc), pods, wire.Limits{})
			var bad *wire.SyntaxError
			if !errors.As(err, &bad) || bad.Encoding != c.enc {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestListOversizeIsNotBuffered(t *testing.T) {
	const limit = 64 << 10
	proto := "k8s\x00" + string(msg(1, msg(1, "v1", 2, "PodList"))) + "\x12\x80\x80\x80\x80\x08\x12\x80\x80\x80\x40"
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		var in io.Reader = strings.NewReader(proto)
		endless := &endlessReader{}
		if enc == wire.JSON {
			in = io.MultiReader(strings.NewReader(`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"`), endless)
		}
		_, _, _, err := drain(t, in, contentType(enc), pods, wire.Limits{Frame: limit})
		var big *wire.TooLargeError
		if !errors.As(err, &big) || big.Limit != limit || big.Size <= limit {
			t.Fatalf("got %v", err)
		}
		if endless.n > 2*limit {
			t.Errorf("%d bytes read", endless.n)
		}
	})
}

type endlessReader struct{ n int }

func (r *endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	r.n += len(p)
	return len(p), nil
}

func TestListLimitIsExact(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in := stock(t, enc, podList(1))
		raws, _, _, err := drain(t, bytes.NewReader(in), contentType(enc), pods, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(raws[0].Bytes))
		if _, _, _, err := drain(t, bytes.NewReader(in), contentType(enc), pods, wire.Limits{Frame: size}); err != nil {
			t.Errorf("%d bytes, limit the same: %v", size, err)
		}
		if _, _, _, err := drain(t, bytes.NewReader(in), contentType(enc), pods, wire.Limits{Frame: size - 1}); !errors.As(err, new(*wire.TooLargeError)) {
			t.Errorf("%d bytes, limit one less: %v", size, err)
		}
	})
}

func TestListBadObjectsDoNotStopIt(t *testing.T) {
	in := `{"apiVersion":"example.com/v1","kind":"ThingList","metadata":{"resourceVersion":"9"},"items":[` +
		`{"kind":"Other","apiVersion":"example.com/v1","metadata":{"name":"x","namespace":"ns"}},` +
		string(thing("a", "")) + `,{"metadata":{"name":"` + "\xff" + `"}},5,` + string(thing("b", "")) + `]}`
	raws, _, bad, err := drain(t, strings.NewReader(in), "application/json", things, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range raws {
		h, err := r.Header()
		if err != nil {
			bad = append(bad, err)
			continue
		}
		names = append(names, h.Name)
	}
	if !slices.Equal(names, []string{"a", "b"}) || len(bad) != 3 {
		t.Errorf("good %v, bad %v", names, bad)
	}
	var first *wire.DecodeError
	if !errors.As(bad[0], &first) || first.Key != (object.Key{Namespace: "ns", Name: "x"}) || !errors.As(first, new(*wire.KindError)) {
		t.Errorf("the first is %v", bad[0])
	}
}

func TestListBodyErrorComesThrough(t *testing.T) {
	reset := errors.New("connection reset")
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		in := stock(t, enc, podList(2))
		for _, n := range []int{0, 10, len(in) / 2} {
			r := io.MultiReader(bytes.NewReader(in[:n]), iotest.ErrReader(reset))
			if _, _, _, err := drain(t, r, contentType(enc), pods, wire.Limits{}); !errors.Is(err, reset) {
				t.Errorf("after %d bytes: %v", n, err)
			}
		}
	})
}

func TestListCustomListKind(t *testing.T) {
	in := `{"apiVersion":"example.com/v1","kind":"Things","items":[` + string(thing("a", "")) + `]}`
	raws, _, _, err := drain(t, strings.NewReader(in), "application/json", things, wire.Limits{})
	if err != nil || len(raws) != 1 {
		t.Error(raws, err)
	}
}
