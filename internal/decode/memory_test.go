package decode

import (
	"bytes"
	gojson "encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
)

// aliases reports whether the memory of s is a part of b.
func aliases(b []byte, s string) bool {
	from, at := uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(unsafe.Pointer(unsafe.StringData(s)))
	return at >= from && at+uintptr(len(s)) <= from+uintptr(len(b))
}

// forms are the two encodings: how a value is written, and read with and without its buffer.
var forms = map[string]struct {
	write      func(any) ([]byte, error)
	read, owns func([]byte, any) error
}{
	"json":     {gojson.Marshal, JSON, JSONOwned},
	"protobuf": {func(v any) ([]byte, error) { return v.(marshaler).Marshal() }, Protobuf, ProtobufOwned},
}

// Strings are cut from a large owned buffer if they are a good part of it.
func TestStringsAreCutFromAnOwnedBuffer(t *testing.T) {
	for name, form := range forms {
		for _, size := range []int{100, 8_000, 30_000, 900_000} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				want := corev1.ConfigMap{Data: map[string]string{"large": strings.Repeat("x", size), "small": "value", "empty": ""}, BinaryData: map[string][]byte{"b": []byte("bytes")}}
				want.Name = "name"
				doc, err := form.write(&want)
				if err != nil {
					t.Fatal(err)
				}
				for _, owned := range []bool{false, true} {
					read := form.read
					if owned {
						read = form.owns
					}
					var got corev1.ConfigMap
					if err := read(doc, &got); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatal(cmp.Diff(want, got))
					}
					if aliases(doc, got.Data["large"]) != (owned && len(doc) > SmallDocument) {
						t.Errorf("owned %v: the large string is in the wrong place", owned)
					}
					for _, s := range []string{got.Name, got.Data["small"]} {
						if aliases(doc, s) {
							t.Errorf("owned %v: %q is in the wrong place", owned, s)
						}
					}
				}
			})
		}
	}
}

// A string with escapes does not overwrite the document: the stock decoder may still need it.
func TestEscapesDoNotOverwriteTheDocument(t *testing.T) {
	doc := []byte(`{"metadata":{"name":"a\tb","labels":{"x\ty":"\u00e4"}},"data":{"a":1}}`)
	before := string(doc)
	var got corev1.ConfigMap
	err := JSONOwned(doc, &got)
	if want := JSON([]byte(before), new(corev1.ConfigMap)); err == nil || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
	if string(doc) != before {
		t.Errorf("now %s", doc)
	}
}

// Concurrent reads by the same tables use separate memory.
func TestConcurrentReadsShareNoMemory(t *testing.T) {
	var group sync.WaitGroup
	for name, form := range forms {
		for n := range 4 {
			group.Go(func() {
				var kept, wants []*corev1.Pod
				for i := range 60 {
					want := &corev1.Pod{}
					filler(int64((i*7 + n) % 50)).Fill(want)
					doc, err := form.write(want)
					if err != nil {
						t.Error(err)
						return
					}
					got, stock := &corev1.Pod{}, &corev1.Pod{}
					if err := form.owns(bytes.Clone(doc), got); err != nil {
						t.Error(err)
					}
					if name == "json" {
						err = json.UnmarshalCaseSensitivePreserveInts(doc, stock)
					} else {
						err = stock.Unmarshal(doc)
					}
					if err != nil {
						t.Error(err)
					}
					kept, wants = append(kept, got), append(wants, stock)
				}
				for i := range kept { // later objects did not overwrite earlier ones
					if !reflect.DeepEqual(kept[i], wants[i]) {
						t.Errorf("%s: %s", name, cmp.Diff(wants[i], kept[i]))
						return
					}
				}
			})
		}
	}
	group.Wait()
}
