package decode

import (
	"reflect"
	"strings"
	"sync/atomic"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantities caches quantities by their text: a cluster has few different ones, and many of each. A
// mismatch in a slot parses the text.
var quantities [512]atomic.Pointer[parsed]

type parsed struct {
	text string
	q    resource.Quantity
}

// maxCachedText is the length of the longest cached text.
const maxCachedText = 16

// parseQuantity is resource.ParseQuantity with a cache. missed counts cache misses, so that quantities that are all
// different do not make garbage.
func parseQuantity(text []byte, missed *int) (resource.Quantity, error) {
	s := unsafe.String(unsafe.SliceData(text), len(text))
	if len(text) > maxCachedText {
		return resource.ParseQuantity(strings.Clone(s))
	}
	slot := &quantities[slotOf(text)]
	p := slot.Load()
	if p != nil && p.text == s {
		return p.q, nil
	}
	own := strings.Clone(s)
	if *missed++; p != nil && *missed%8 != 0 {
		return resource.ParseQuantity(own)
	}
	q, err := resource.ParseQuantity(own)
	if err == nil && sharesNothing(&q) {
		slot.Store(&parsed{own, q})
	}
	return q, err
}

func slotOf(text []byte) uint32 {
	h := uint32(len(text))
	for _, c := range text {
		h = h*31 + uint32(c)
	}
	return (h ^ h>>9) % uint32(len(quantities))
}

// bigPart is the index of the field of a Quantity that points to a large number.
var bigPart = func() int {
	t := reflect.TypeFor[resource.Quantity]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Type.Kind() == reflect.Struct && f.Type.NumField() == 1 && f.Type.Field(0).Type.Kind() == reflect.Pointer {
			return i
		}
	}
	return -1
}()

// sharesNothing reports whether copies of the quantity share no mutable memory.
func sharesNothing(q *resource.Quantity) bool {
	return bigPart >= 0 && reflect.ValueOf(q).Elem().Field(bigPart).Field(0).IsNil()
}
