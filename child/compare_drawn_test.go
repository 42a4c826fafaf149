package child

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

// One value that somebody has changed is a difference, wherever it is and whoever is known to own it.
func TestAChangedValueIsADifference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := map[string]any{}
		for i := range rapid.IntRange(1, 3).Draw(r, "fields") {
			want[fmt.Sprintf("f%d", i)] = value(r, 4)
		}
		live := decode(t, text(want))
		var set []func()
		for _, k := range slices.Sorted(maps.Keys(live)) {
			set = append(set, leaves(live[k], func(x any) { live[k] = x })...)
		}
		if len(set) == 0 {
			r.Skip("it has no value")
		}
		set[rapid.IntRange(0, len(set)-1).Draw(r, "changed")]()
		owned := map[string]any{}
		for k := range want {
			owned["f:"+k] = map[string]any{} // as a whole
		}
		for _, applied := range []bool{false, true} {
			if got := compare(want, live, nil, applied); got == "" {
				r.Errorf("owner unknown, applied %v: %s is as %s", applied, text(want), text(live))
			}
			if got := compare(want, live, owned, applied); got == "" {
				r.Errorf("owned as a whole, applied %v: %s is as %s", applied, text(want), text(live))
			}
			if got := compare(want, decode(t, text(want)), nil, applied); got != "" {
				r.Errorf("owner unknown, applied %v: %s differs from itself in %q", applied, text(want), got)
			}
		}
	})
}

// value draws a value of a depth.
func value(r *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(r, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "text")
	case 1:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "2"}).Draw(r, "number"))
	case 2:
		return rapid.Bool().Draw(r, "bool")
	case 3:
		out := map[string]any{}
		for i := range rapid.IntRange(0, 3).Draw(r, "members") {
			out[fmt.Sprintf("m%d", i)] = value(r, depth-1)
		}
		return out
	}
	out := []any{}
	for range rapid.IntRange(0, 3).Draw(r, "elements") {
		out = append(out, value(r, depth-1))
	}
	return out
}

// leaves returns functions that change the plain values of a value, one each.
func leaves(v any, set func(any)) (out []func()) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(v[k], func(x any) { v[k] = x })...)
		}
	case []any:
		for i := range v {
			out = append(out, leaves(v[i], func(x any) { v[i] = x })...)
		}
	default:
		out = append(out, func() { set("changed") })
	}
	return out
}

// text returns a value as JSON.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}
