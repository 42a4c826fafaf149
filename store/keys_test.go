package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// A key that is kept, as queues do, keeps no other memory of the object.
func TestAKeyKeepsNothingElse(t *testing.T) {
	text := strings.Repeat("x", 16<<10)
	var keys []object.Key
	var read []weak.Pointer[byte]
	for i := range 100 {
		c := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("n-", i), Annotations: map[string]string{"a": fmt.Sprint(text, i)}}}
		b, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.Protobuf, Bytes: b})
		if err != nil {
			t.Fatal(err)
		}
		keys, read = append(keys, e.Key()), append(read, weak.Make(&b[0]))
	}
	awaitFreed(t, read)
	runtime.KeepAlive(keys)
}

// The values of an index keep no other memory of what the function took them from.
func TestAnIndexKeepsNothingOfTheValuesButTheirText(t *testing.T) {
	text := strings.Repeat("x", 16<<10)
	for name, parts := range map[string]int{"one value": 1, "several values": 3} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			var read []weak.Pointer[byte]
			mustIndexFunc(t, s, "part", func(e *Entry) (values []string, err error) {
				decoded := fmt.Sprint(e.Key().Name, text) // as a field of a decoded object is
				read = append(read, weak.Make(unsafe.StringData(decoded)))
				for i := range parts {
					values = append(values, decoded[:len(e.Key().Name)+i])
				}
				return values, nil
			})
			for i := range 100 {
				commit(s, fmt.Sprintf("+n%d u@%d", i, i+1))
			}
			if len(read) < 100 {
				t.Fatalf("the function was called %d times", len(read))
			}
			awaitFreed(t, read)
			runtime.KeepAlive(s)
		})
	}
}

// awaitFreed waits until the garbage collector has freed most of what was read.
func awaitFreed(t *testing.T, read []weak.Pointer[byte]) {
	t.Helper()
	held := func() (n int) {
		for _, p := range read {
			if p.Value() != nil {
				n++
			}
		}
		return n
	}
	eventually(t, func() bool { return held() < len(read)/4 }, func() string { // some are in use, such as the last one
		return fmt.Sprintf("%d of %d are kept", held(), len(read))
	})
}
