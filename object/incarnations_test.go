package object_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/object"
)

// TestIncarnationsNameTheLatestAndCountAll: in any combination the latest are named and all are
// counted, and earlier values do not change.
func TestIncarnationsNameTheLatestAndCountAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pair struct {
			in  *object.Incarnations
			all []types.UID
		}
		made := []pair{{}}
		check := func(p pair) {
			named := p.all[max(0, len(p.all)-16):]
			if p.in.Len() != len(p.all) || !slices.Equal(p.in.All(), named) {
				t.Fatalf("%+v, want the last of %v", p.in, p.all)
			}
		}
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			a := made[rapid.IntRange(0, len(made)-1).Draw(t, "a")]
			var p pair
			if rapid.Bool().Draw(t, "one") {
				uid := types.UID(fmt.Sprint(next))
				next++
				p = pair{a.in.Then(uid), slices.Concat(a.all, []types.UID{uid})}
				if p.in.Then(uid) != p.in || p.in.Then("") != p.in {
					t.Fatal("a repeated uid, or an empty one, was added")
				}
			} else {
				b := made[rapid.IntRange(0, len(made)-1).Draw(t, "b")]
				p = pair{a.in.Join(b.in), slices.Concat(a.all, b.all)}
			}
			made = append(made, p)
		}
		for _, p := range made {
			check(p)
		}
	})
}

func TestWithoutRemovesOneIncarnation(t *testing.T) {
	var none *object.Incarnations
	in := none.Then("a").Then("b")
	for _, tc := range []struct {
		uid  types.UID
		want string
	}{{"a", "[b]"}, {"b", "[a]"}, {"c", "[a b]"}, {"", "[a b]"}} {
		if got := fmt.Sprint(in.Without(tc.uid).All()); got != tc.want {
			t.Errorf("without %q: %s, want %s", tc.uid, got, tc.want)
		}
	}
	if got := in.Without("a").Without("b"); got != nil {
		t.Errorf("none left: %+v", got)
	}
	if got := (&object.Incarnations{UIDs: []types.UID{"a"}, More: 2}).Without("a").Then("b"); got.Len() != 3 {
		t.Errorf("counted ones are left: %+v", got)
	}
}
