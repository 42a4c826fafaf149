package rules

import (
	"slices"
	"testing"
)

// What was not used for the longest time is dropped, once.
func TestTheLastUsedAreKept(t *testing.T) {
	var dropped []int
	k := newKept[string](2, func(n int) { dropped = append(dropped, n) })
	k.put("a", 1)
	k.put("b", 2)
	if n, ok := k.get("a"); n != 1 || !ok {
		t.Errorf("a: got %d, %v", n, ok)
	}
	k.put("c", 3)
	if _, ok := k.get("b"); ok {
		t.Error("b is kept, which was used before a")
	}
	k.put("d", 4)
	for key, want := range map[string]int{"c": 3, "d": 4} {
		if n, ok := k.get(key); n != want || !ok {
			t.Errorf("%s: got %d, %v", key, n, ok)
		}
	}
	if want := []int{2, 1}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %v, want %v", dropped, want)
	}
}
