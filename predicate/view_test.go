package predicate_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/store"
)

type phaseView struct {
	App    string `field:"metadata.labels[app]"`
	Status struct{ Phase corev1.PodPhase }
	note   any // unexported fields do not count
}

func TestViewChangedPassesChangesOfItsFields(t *testing.T) {
	p := predicate.ViewChanged[phaseView]()
	_ = phaseView{note: p}
	rejected := store.Change{
		Key: object.Key{Namespace: "web", Name: "a"}, Old: entry(t, pod()),
		New: store.Rejected(object.Header{Key: object.Key{Namespace: "web", Name: "a"}, UID: "u1"}, errors.New("garbage")),
	}
	resync := change(t, pod(), pod())
	resync.New, resync.Resync = resync.Old, true
	reset := change(t, pod(), pod())
	reset.Reset = true
	for _, tc := range []struct {
		name string
		c    store.Change
		want bool
	}{
		{"created", change(t, nil, pod()), true},
		{"deleted", change(t, pod(), nil), true},
		{"re-created", change(t, pod(), pod(uid)), true},
		{"rejected", rejected, true},
		{"the server went back", reset, true},
		{"resync", resync, false},
		{"nothing", change(t, pod(), pod(version("2"))), false},
		{"spec", change(t, pod(), pod(version("2"), generation, func(p *corev1.Pod) { p.Spec.NodeName = "n" })), false},
		{"another label", change(t, pod(), pod(version("2"), func(p *corev1.Pod) { p.Labels["x"] = "y" })), false},
		{"the label", change(t, pod(), pod(version("2"), otherLabel)), true},
		{"the status", change(t, pod(), pod(version("2"), running)), true},
	} {
		if got, err := p.Match(tc.c); got != tc.want || err != nil {
			t.Errorf("%s: %v %v, want %v", tc.name, got, err, tc.want)
		}
	}
	if ok, err := p.MatchGeneric(pod()); !ok || err != nil {
		t.Errorf("an event from outside: %v %v", ok, err)
	}
}

func TestUnreadableViewPasses(t *testing.T) {
	type sized struct{ Spec struct{ Size int } }
	things := &wire.Kind{GVK: podKind.GVK.GroupVersion().WithKind("Thing")}
	thing := func(size string) *store.Entry {
		e, err := store.NewEntry(wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: fmt.Appendf(nil, `{"metadata":{"name":"a","uid":"u"},"spec":{"size":%s}}`, size)})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	p := predicate.ViewChanged[sized]()
	for _, c := range []store.Change{{Old: thing("1"), New: thing(`"x"`)}, {Old: thing(`"x"`), New: thing("1")}} {
		if ok, err := p.Match(c); !ok || err == nil {
			t.Errorf("%v %v", ok, err)
		}
	}
	if ok, err := p.Match(store.Change{Old: thing("1"), New: thing(" 1")}); ok || err != nil {
		t.Errorf("the same: %v %v", ok, err)
	}
	if ok, err := predicate.ViewChanged[int]().Match(store.Change{Old: thing("1"), New: thing("2")}); !ok || err == nil {
		t.Errorf("no view: %v %v", ok, err)
	}
}
