package control

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// pod is one state of a Pod. Its owner is a uid, with a bang if that controls it.
func pod(name, uid, owner string) *core.Object {
	refs := ""
	if owner != "" {
		controls := owner[len(owner)-1] == '!'
		if controls {
			owner = owner[:len(owner)-1]
		}
		refs = fmt.Sprintf(`,"ownerReferences":[{"uid":%q,"controller":%v}]`, owner, controls)
	}
	return &core.Object{Key: "/core/pods/ns/" + name, JSON: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"ns","uid":%q,"managedFields":[{"manager":"m"}]%s}}`, name, uid, refs)}
}

// What has changed several times between two steps has changed once, and indexes follow.
func TestLearn(t *testing.T) {
	s := newState()
	show := func(changes []Change) (out string) {
		for _, c := range changes {
			_, name := Pods.Names(c.Key)
			out += name
			if c.Was != nil {
				out += " was " + string(c.Was.UID)
			}
			if c.Is != nil {
				out += " is " + string(c.Is.UID)
			}
			out += "; "
		}
		return out
	}
	write := func(o *core.Object) core.Change { return core.Change{Object: o} }
	remove := func(o *core.Object) core.Change { return core.Change{Object: o, Deleted: true} }
	for i, c := range []struct {
		log           []core.Change
		want          string
		owned, orphan string
	}{
		{[]core.Change{write(pod("a", "1", "")), write(pod("b", "2", "x!")), write(pod("c", "3", "x"))}, "a is 1; b is 2; c is 3; ", "[b c]", "[a c]"},
		{[]core.Change{write(pod("a", "1", "x!")), write(pod("b", "2", "")), write(pod("a", "1", ""))}, "a was 1 is 1; b was 2 is 2; ", "[c]", "[a b c]"},
		{[]core.Change{remove(pod("a", "1", "")), write(pod("a", "4", "x!")), remove(pod("c", "3", "x"))}, "a was 1 is 4; c was 3; ", "[a]", "[b]"},
		{[]core.Change{write(pod("d", "5", "")), remove(pod("d", "5", ""))}, "", "[a]", "[b]"},
	} {
		if got := show(s.advance(core.View{}, c.log)); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
		names := func(keys []string) (out []string) {
			for _, key := range keys {
				_, name := Pods.Names(key)
				out = append(out, name)
			}
			return out
		}
		if got := fmt.Sprint(names(s.Owned("x"))); got != c.owned {
			t.Errorf("%d: x owns %s, want %s", i, got, c.owned)
		}
		if got := fmt.Sprint(names(s.Orphans(Pods, "ns"))); got != c.orphan {
			t.Errorf("%d: %s have no controller, want %s", i, got, c.orphan)
		}
	}
	if s.Find("4") != "/core/pods/ns/a" || s.Find("1") != "" || s.Meta("/core/pods/ns/d") != nil {
		t.Error("uids are not what they are")
	}
	one := Get[corev1.Pod](s, "/core/pods/ns/a")
	if two := Get[corev1.Pod](s, "/core/pods/ns/a"); one != two || one.ManagedFields != nil || one.UID != "4" {
		t.Errorf("decoded twice, or wrongly: %+v", one)
	}
	s.advance(core.View{}, []core.Change{write(pod("a", "4", ""))})
	if three := Get[corev1.Pod](s, "/core/pods/ns/a"); one == three {
		t.Error("an old version is shown")
	}
}
