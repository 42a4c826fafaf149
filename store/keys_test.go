package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// A key that is kept, as queues do, keeps no other memory of the object.
func TestAKeyKeepsNothingElse(t *testing.T) {
	const n, large = 500, 16 << 10
	text := strings.Repeat("x", large)
	keys := make([]object.Key, 0, n)
	before := heaptest.Live()
	for i := range n {
		c := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("n-", i), Annotations: map[string]string{"a": fmt.Sprint(text, i)}}}
		b, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.Protobuf, Bytes: b})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Key())
	}
	if after := heaptest.Live(); after > before+n*large/4 {
		t.Errorf("%d keys keep %d bytes", n, after-before)
	}
	runtime.KeepAlive(keys)
}

// The values of an index keep no other memory of what the function took them from.
func TestAnIndexKeepsNothingOfTheValuesButTheirText(t *testing.T) {
	const n, large = 500, 16 << 10
	text := strings.Repeat("x", large)
	for name, parts := range map[string]int{"one value": 1, "several values": 3} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			mustIndexFunc(t, s, "part", func(e *Entry) (values []string, err error) {
				decoded := fmt.Sprint(e.Key().Name, text) // as a field of a decoded object is
				for i := range parts {
					values = append(values, decoded[:len(e.Key().Name)+i])
				}
				return values, nil
			})
			before := heaptest.Live()
			for i := range n {
				commit(s, fmt.Sprintf("+n%d u@%d", i, i+1))
			}
			if after := heaptest.Live(); after > before+n*large/4 {
				t.Errorf("the values of %d objects keep %d bytes", n, after-before)
			}
			runtime.KeepAlive(s)
		})
	}
}
