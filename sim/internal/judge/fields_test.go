package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
)

// Fields names what differs, by path.
func TestFields(t *testing.T) {
	for _, c := range []struct{ got, want, told string }{
		{`{"spec":{"replicas":3}}`, `{"spec":{"replicas":2}}`, `spec.replicas is 3, and 2 without a fault`},
		{`{"spec":{}}`, `{"spec":{"a":[1]}}`, `spec.a is not there, and [1] without a fault`},
		{`{"m":{"a.b/c":""}}`, `{"m":{}}`, `m.[a.b/c] is "", and not there without a fault`},
		{`{"l":[1,2,{"x":1}]}`, `{"l":[1,3,{"x":2}]}`, `l[1] is 2, and 3 without a fault; l[2].x is 1, and 2 without a fault`},
		{`{"l":[1]}`, `{"l":[1,null]}`, `l[1] is not there, and null without a fault`},
		{`{"a":{}}`, `{"a":1}`, `a is {}, and 1 without a fault`},
		{`{"a":1,"b":1,"c":1,"d":1}`, `{"a":2,"b":2,"c":2,"d":2}`, `a is 1, and 2 without a fault; b is 1, and 2 without a fault; c is 1, and 2 without a fault; and 1 more fields`},
		{``, `{"a":1}`, ``},
		{`no JSON`, `{"a":1}`, ``},
	} {
		if got := strings.Join(Difference{Got: c.got, Want: c.want}.Fields(3, "without a fault"), "; "); got != c.told {
			t.Errorf("%s, want %s: %q, want %q", c.got, c.want, got, c.told)
		}
	}
	long := Difference{Got: `"` + strings.Repeat("é", 100) + `"`, Want: `1`}.Fields(1, "without a fault")
	if len(long) != 1 || strings.Contains(long[0], "\ufffd") || len(long[0]) > 200 {
		t.Errorf("a long value: %q", long)
	}
}

// Two documents that differ have a field that differs, and equal ones have none.
func TestFieldsMissNothing(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Map(rapid.IntRange(0, 2), func(n int) any { return float64(n) }), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Just[any](nil))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(value(depth-1), 0, 2), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), value(depth-1), 0, 2), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(r *rapid.T) {
		texts := make([]string, 2)
		for i := range texts {
			b, err := json.Marshal(value(3).Draw(r, "value"))
			if err != nil {
				r.Fatal(err)
			}
			texts[i] = string(b)
		}
		told := Difference{Got: texts[0], Want: texts[1]}.Fields(100, "without a fault")
		if same := texts[0] == texts[1]; same != (len(told) == 0) {
			r.Fatalf("%v: %q", texts, told)
		}
	})
}
