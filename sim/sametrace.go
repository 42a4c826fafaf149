package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/sim/internal/world"
)

// sameTrace returns an error that names the first difference between two runs of one plan. What is done to several
// objects at one instant may have another order: in a program it often is that of a map, and a fault finds its place by
// the object.
func sameTrace(a, b []world.Entry) error {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	const what = "two runs of the same program differ"
	const why = ". What in it is drawn at random, or depends on the order of goroutines or of a map?"
	switch {
	case i == len(a) && i == len(b), sameButForOrder(a[i:], b[i:]):
		return nil
	case i == len(a) || i == len(b):
		return fmt.Errorf("%s: one ends after %d acts, the other after %d%s", what, len(a), len(b), why)
	}
	var before strings.Builder
	for _, e := range a[max(0, i-5):i] {
		fmt.Fprintf(&before, "\n\tboth:  %s", e)
	}
	return fmt.Errorf("%s%s%s\n\tone:   %s\n\tother: %s", what, why, before.String(), a[i], b[i])
}

// sameButForOrder reports whether two traces have the same entries for each object and instant. Another order gives
// other versions to all objects, so they are not compared; neither is what calls send later on, since it may hold them.
func sameButForOrder(a, b []world.Entry) bool {
	order := len(a) > 0 && len(b) > 0 && (a[0].Of != b[0].Of || a[0].Text != b[0].Text)
	return order && slices.EqualFunc(byObject(a), byObject(b), func(x, y world.Entry) bool {
		x.Version, y.Version = 0, 0
		if x.At > a[0].At {
			x.Body, y.Body = 0, 0
		}
		return x == y
	})
}

// byObject returns the entries sorted by instant and object. Those of one object keep their order.
func byObject(entries []world.Entry) []world.Entry {
	return slices.SortedStableFunc(slices.Values(entries), func(x, y world.Entry) int {
		return cmp.Or(cmp.Compare(x.At, y.At), strings.Compare(x.Of, y.Of))
	})
}
