package decode

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type marshaler interface{ Marshal() ([]byte, error) }

// sameProto decodes a message as [sameAs] does.
func sameProto(t testing.TB, typ reflect.Type, doc []byte) {
	t.Helper()
	sameAs(t, typ, doc, Protobuf, ProtobufOwned, func(b []byte, into any) error { return into.(stockMessage).Unmarshal(b) })
}

// fast reports whether the fast path decodes a message.
func fast(typ reflect.Type, doc []byte) bool {
	t := protoTables.of(typ)
	return t != nil && t.decode(doc, reflect.New(typ).UnsafePointer(), false) == nil
}

// Every kind of the API, filled at random, decodes as by its own method, on the fast path.
func TestEveryKindDecodesAsItsUnmarshal(t *testing.T) {
	tried := 0
	for i, typ := range types(t) {
		if _, ok := reflect.New(typ).Interface().(stockMessage); !ok {
			continue
		}
		tried++
		for n := range long(2, 4) {
			obj := reflect.New(typ).Interface()
			filler(int64(i*100 + n)).Fill(obj)
			doc, err := obj.(marshaler).Marshal()
			if err != nil {
				t.Fatalf("%v: %v", typ, err)
			}
			sameProto(t, typ, doc)
			sameProto(t, typ, append(bytes.Clone(doc), doc...)) // two messages are merged
			if !fast(typ, doc) {
				t.Errorf("%v: not the fast way", typ)
			}
		}
	}
	if tried < 300 {
		t.Errorf("%d kinds", tried)
	}
}

func podMessage(t testing.TB, seed int64) []byte {
	p := &corev1.Pod{}
	filler(seed).Fill(p)
	doc, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Damaged messages end as with the stock decoder, including errors and partial results.
func TestDamagedProtobufFailsAsStock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range long(1000, 6000) {
		doc := podMessage(t, int64(i%40))
		for range 1 + r.IntN(3) {
			at := r.IntN(len(doc))
			switch r.IntN(4) {
			case 0:
				doc = append(doc[:at:at], append([]byte{byte(r.Uint32())}, doc[at:]...)...)
			case 1:
				doc[at] = byte(r.Uint32())
			case 2:
				doc[at] ^= 1 << r.IntN(8)
			default:
				doc = append(doc[:at:at], doc[min(at+1+r.IntN(30), len(doc)):]...)
			}
			if len(doc) == 0 {
				break
			}
		}
		sameProto(t, reflect.TypeFor[corev1.Pod](), doc)
	}
}

// lists has lists of numbers, a map of messages that are lists, and a list in a message.
var lists = []reflect.Type{
	reflect.TypeFor[corev1.PodSecurityContext](),
	reflect.TypeFor[resourcev1.DeviceAttribute](),
	reflect.TypeFor[authenticationv1.UserInfo](),
	reflect.TypeFor[metav1.APIResource](),
	reflect.TypeFor[metav1.ObjectMeta](),
	reflect.TypeFor[metav1.LabelSelector](),
	reflect.TypeFor[corev1.ConfigMap](),
	reflect.TypeFor[corev1.ResourceRequirements](),
	reflect.TypeFor[metav1.MicroTime](),
	reflect.TypeFor[metav1.Time](),
	reflect.TypeFor[metav1.Duration](),
}

// Messages that no encoder of the API writes decode as with the stock decoder.
func TestUnusualMessagesDecodeAsStock(t *testing.T) {
	var docs [][]byte
	for n := range 16 {
		tag := byte(n << 3)
		for kind := range byte(8) {
			for _, value := range []string{
				"", "\x00", "\x01", "\x80", "\x80\x00", "\x7f", "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
				"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
				"\x01\x05", "\x02\x05\x06", "\x02\x80\x01", "\x02\x05\x80", "\x03\x05\x06\x07", "12345678", "1234",
				"\x00\x0a\x00", "\x06\x0a\x01k\x12\x01v", "\x06\x12\x01v\x0a\x01k", "\x03\x0a\x01k", "\x03\x12\x01v", "\x09\x0a\x01k\x0a\x01l\x12\x01v",
				"\x08\x0a\x01k\x12\x01v\x18\x01", "\x07\x0a\x01k\x12\x02vw", "\x05\x0a\x01k\x12\x01v", "\x06\x0a\x01k\x12\x09v", "\x05\x08\x01\x12\x01v",
				"\x08\x0a\x01k\x12\x03\x0a\x011", "\x05\x0a\x01k\x12\x00", "\x08\x0a\x01k\x12\x03\x0a\x01x",
			} {
				docs = append(docs, append([]byte{tag | kind}, value...), append([]byte{tag | kind | 0x80, 0}, value...))
			}
		}
	}
	for _, doc := range docs {
		for _, typ := range lists {
			sameProto(t, typ, doc)
			sameProto(t, typ, append(bytes.Clone(doc), doc...))
		}
	}
}

type tagged struct {
	Name  string            `protobuf:"bytes,1,opt,name=name"`
	Count *uint32           `protobuf:"varint,2,opt,name=count"`
	Next  *tagged           `protobuf:"bytes,3,opt,name=next"`
	Map   map[string]tagged `protobuf:"bytes,300,rep,name=map"`
	Other int
}

// A type needs tags, not methods.
func TestTypeNeedsOnlyTags(t *testing.T) {
	var got tagged
	doc := []byte("\x0a\x01a\x10\x07\x1a\x05\x0a\x01b\x20\x01\xe2\x12\x0a\x0a\x01k\x12\x05\x0a\x03one\xe2\x12\x00")
	if err := Protobuf(doc, &got); err != nil {
		t.Fatal(err)
	}
	want := tagged{Name: "a", Count: new(uint32), Next: &tagged{Name: "b"}, Map: map[string]tagged{"k": {Name: "one"}, "": {}}}
	*want.Count = 7
	if !reflect.DeepEqual(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if err := Protobuf([]byte{0x0a}, &tagged{}); !errors.Is(err, errMalformed) {
		t.Error(err)
	}
	deep := []byte{}
	for range protoDepth + 1 {
		n := len(deep)
		deep = append([]byte{0x1a, byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)}, deep...)
	}
	if err := Protobuf(deep, &tagged{}); !errors.Is(err, errDeep) {
		t.Error(err)
	}
	for _, into := range []any{nil, tagged{}, (*tagged)(nil), new(int), &struct{ A int }{}, &struct {
		A float32 `protobuf:"fixed32,1,opt"`
	}{}, &struct {
		A int32 `protobuf:"varint,1,opt"`
		B int32 `protobuf:"varint,1,opt"`
	}{}} {
		if err := Protobuf(nil, into); !errors.Is(err, errNoForm) {
			t.Errorf("%T: %v", into, err)
		}
	}
}

// Nothing of the message is kept, and writes to a value reach nothing else.
func TestMessageIsNotKept(t *testing.T) {
	s := corev1.Secret{Data: map[string][]byte{"a": []byte("first"), "b": []byte("second"), "c": {}, "d": []byte(strings.Repeat("x", 5000))}}
	s.Name = "name"
	doc, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Secret
	if err := Protobuf(doc, &got); err != nil {
		t.Fatal(err)
	}
	clear(doc)
	if !reflect.DeepEqual(got, s) {
		t.Error(cmp.Diff(s, got))
	}
	_ = append(got.Data["a"], strings.Repeat("y", 100)...)
	clear(got.Data["a"])
	s.Data["a"] = make([]byte, 5)
	if !reflect.DeepEqual(got, s) {
		t.Error(cmp.Diff(s, got))
	}
}

func FuzzProtobuf(f *testing.F) {
	for i := range 20 {
		f.Add(podMessage(f, int64(i)))
	}
	kinds := append([]reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[corev1.Secret]()}, lists...)
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, typ := range kinds {
			sameProto(t, typ, doc)
		}
	})
}
