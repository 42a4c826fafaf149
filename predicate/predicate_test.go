package predicate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/store"
)

var podKind = &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Pod")}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := testobj.Pod("web/a", testobj.UID("u1"), testobj.Version("1"), testobj.Labels("app=shop"))
	p.Generation = 1
	for _, f := range change {
		f(p)
	}
	return p
}

// entry returns nil for no Pod.
func entry(t *testing.T, p *corev1.Pod) *store.Entry {
	t.Helper()
	if p == nil {
		return nil
	}
	return testobj.Entry(p)
}

func entryOf(t testing.TB, raw wire.Raw) *store.Entry {
	t.Helper()
	e, err := store.NewEntry(raw)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func change(t *testing.T, old, new *corev1.Pod) store.Change {
	t.Helper()
	c := store.Change{Key: object.Key{Namespace: "web", Name: "a"}, Old: entry(t, old), New: entry(t, new)}
	if c.New == nil {
		c.Last = c.Old
	}
	return c
}

func version(v string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.ResourceVersion = v } }
func uid(p *corev1.Pod)                  { p.UID = "u2" }
func generation(p *corev1.Pod)           { p.Generation++ }
func noLabels(p *corev1.Pod)             { p.Labels = nil }
func otherLabel(p *corev1.Pod)           { p.Labels = map[string]string{"app": "bar"} }
func annotated(p *corev1.Pod)            { p.Annotations = map[string]string{"note": "new"} }
func annotatedEmpty(p *corev1.Pod)       { p.Annotations = map[string]string{"x": ""} }
func owned(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j", UID: "u9"}}
}
func deleting(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(100, 0)} }
func running(p *corev1.Pod)  { p.Status.Phase = corev1.PodRunning }
func bound(p *corev1.Pod)    { p.Spec.NodeName = "n" }

// Every header predicate meets every way in which an object can change.
func TestHeaderPredicatesByKindOfChange(t *testing.T) {
	shop := labels.SelectorFromSet(labels.Set{"app": "shop"})
	predicates := []struct {
		name string
		p    predicate.Predicate
	}{
		{"generation", predicate.GenerationChanged()},
		{"spec", predicate.SpecChanged()},
		{"status", predicate.StatusChanged()},
		{"labels", predicate.LabelsChanged()},
		{"annotations", predicate.AnnotationsChanged()},
		{"note", predicate.AnnotationsChanged("other", "note")},
		{"x", predicate.AnnotationsChanged("x")},
		{"app", predicate.LabelsChanged("app")},
		{"tier", predicate.LabelsChanged("tier")},
		{"owners", predicate.OwnersChanged()},
		{"version", predicate.ResourceVersionChanged()},
		{"deletion", predicate.DeletionRequested()},
		{"selector", predicate.Labels(shop)},
		{"namespace", predicate.InNamespace("web", "")},
		{"elsewhere", predicate.InNamespace("db")},
		{"nil-selector", predicate.Labels(nil)},
	}
	rejected := store.Change{
		Key: object.Key{Namespace: "web", Name: "a"}, Old: entry(t, pod()),
		New: store.Rejected(object.Header{Key: object.Key{Namespace: "web", Name: "a"}, UID: "u1"}, errors.New("garbage")),
	}
	resync := change(t, pod(), pod())
	resync.New, resync.Resync = resync.Old, true
	reset := change(t, pod(), pod())
	reset.Reset = true
	gone := store.Change{Key: resync.Key, Last: resync.Old}
	for _, tc := range []struct {
		name string
		c    store.Change
		want string // the predicates that pass it
	}{
		{"created", change(t, nil, pod()), "generation spec status labels annotations note x app tier owners version deletion selector namespace"},
		{"created with another label", change(t, nil, pod(otherLabel)), "generation spec status labels annotations note x app tier owners version deletion namespace"},
		{"deleted", change(t, pod(), nil), "generation spec status labels annotations note x app tier owners version deletion selector namespace"},
		{"came and went", gone, "generation spec status labels annotations note x app tier owners version deletion selector namespace"},
		{"re-created with nothing else changed", change(t, pod(), pod(uid)), "generation spec status labels annotations note x app tier owners version deletion selector namespace"},
		{"status only", change(t, pod(), pod(version("2"), running)), "status version selector namespace"},
		{"generation", change(t, pod(), pod(version("2"), generation)), "generation version selector namespace"},
		{"spec", change(t, pod(), pod(version("2"), generation, bound)), "generation spec version selector namespace"},
		{"label goes", change(t, pod(), pod(version("2"), noLabels)), "labels app version selector namespace"},
		{"label comes", change(t, pod(otherLabel), pod(version("2"))), "labels app version selector namespace"},
		{"annotation", change(t, pod(), pod(version("2"), annotated)), "annotations note version selector namespace"},
		{"empty annotation", change(t, pod(), pod(version("2"), annotatedEmpty)), "annotations x version selector namespace"},
		{"adopted", change(t, pod(), pod(version("2"), owned)), "owners version selector namespace"},
		{"asked to go", change(t, pod(), pod(version("2"), deleting)), "version deletion selector namespace"},
		{"resync", resync, "selector namespace"},
		{"the server went back", reset, "generation spec status labels annotations note x app tier owners version deletion selector namespace"},
		{"rejected", rejected, "generation spec status labels annotations note x app tier owners version deletion selector nil-selector namespace"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := map[string]bool{}
			for _, name := range strings.Fields(tc.want) {
				want[name] = true
			}
			for _, p := range predicates {
				got, err := p.p.Match(tc.c)
				if err != nil {
					t.Errorf("%s: %v", p.name, err)
				}
				if got != want[p.name] {
					t.Errorf("%s = %v, want %v", p.name, got, want[p.name])
				}
			}
		})
	}
}

func TestGenericEventsPassHeaderPredicates(t *testing.T) {
	for name, tc := range map[string]struct {
		p    predicate.Predicate
		want bool
	}{
		"generation":        {predicate.GenerationChanged(), true},
		"selector":          {predicate.Labels(labels.SelectorFromSet(labels.Set{"app": "shop"})), true},
		"other selector":    {predicate.Labels(labels.SelectorFromSet(labels.Set{"app": "bar"})), false},
		"namespace":         {predicate.InNamespace("web"), true},
		"other namespace":   {predicate.InNamespace("db"), false},
		"and":               {predicate.And(predicate.InNamespace("web"), predicate.InNamespace("db")), false},
		"or":                {predicate.Or(predicate.InNamespace("web"), predicate.InNamespace("db")), true},
		"not":               {predicate.Not(predicate.InNamespace("web")), false},
		"typed, none given": {predicate.New(predicate.Funcs[*corev1.Pod]{}), true},
		"typed":             {predicate.New(predicate.Funcs[*corev1.Pod]{Generic: func(p *corev1.Pod) bool { return p.Name == "b" }}), false},
		"typed for another": {predicate.New(predicate.Funcs[*corev1.Node]{}), true},
	} {
		got, err := tc.p.MatchGeneric(pod())
		if err != nil || got != tc.want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, tc.want)
		}
	}
	p := predicate.New(predicate.Funcs[*corev1.Node]{Generic: func(*corev1.Node) bool { return false }})
	if ok, err := p.MatchGeneric(pod()); !ok || err == nil {
		t.Errorf("an event of another type: %v, %v; want true and an error", ok, err)
	}
}

func TestAndOrNotCombineVerdictsAndErrors(t *testing.T) {
	yes := predicate.Func(func(store.Change) bool { return true })
	no := predicate.Func(func(store.Change) bool { return false })
	bad := predicate.New(predicate.Funcs[*corev1.Pod]{Create: func(*corev1.Pod) bool { return false }})
	c := store.Change{New: store.Rejected(object.Header{Key: object.Key{Name: "a"}}, errors.New("garbage"))}
	for name, tc := range map[string]struct {
		p       predicate.Predicate
		want    bool
		wantErr bool
	}{
		"And()":             {predicate.And(), true, false},
		"Or()":              {predicate.Or(), false, false},
		"And(yes, no)":      {predicate.And(yes, no), false, false},
		"And(yes, yes)":     {predicate.And(yes, yes), true, false},
		"And(bad, no)":      {predicate.And(bad, no), false, false},
		"And(bad, yes)":     {predicate.And(bad, yes), true, true},
		"Or(no, no)":        {predicate.Or(no, no), false, false},
		"Or(no, yes)":       {predicate.Or(no, yes), true, false},
		"Or(bad, yes)":      {predicate.Or(bad, yes), true, false},
		"Or(bad, no)":       {predicate.Or(bad, no), true, true},
		"Not(yes)":          {predicate.Not(yes), false, false},
		"Not(no)":           {predicate.Not(no), true, false},
		"Not(bad)":          {predicate.Not(bad), true, true},
		"Not(Not(bad))":     {predicate.Not(predicate.Not(bad)), true, true},
		"Not(And(yes, no))": {predicate.Not(predicate.And(yes, no)), true, false},
	} {
		got, err := tc.p.Match(c)
		if got != tc.want || (err != nil) != tc.wantErr {
			t.Errorf("%s: %v, %v; want %v, error %v", name, got, err, tc.want, tc.wantErr)
		}
	}
}

// A typed predicate calls the function of the event, with the objects of the event.
func TestTypedPredicateCallsTheFunctionOfTheEvent(t *testing.T) {
	var called string
	p := predicate.New(predicate.Funcs[*corev1.Pod]{
		Create: func(o *corev1.Pod) bool { called += "create " + o.ResourceVersion; return false },
		Update: func(old, new *corev1.Pod) bool {
			called += "update " + old.ResourceVersion + " " + new.ResourceVersion
			return false
		},
		Delete: func(o *corev1.Pod) bool { called += "delete " + o.ResourceVersion + " "; return false },
	})
	gone := change(t, pod(), nil)
	gone.Last = entry(t, pod(version("9")))
	cameAndWent := gone
	cameAndWent.Old = nil
	for name, tc := range map[string]struct {
		c    store.Change
		want string
	}{
		"created":       {change(t, nil, pod()), "create 1"},
		"updated":       {change(t, pod(), pod(version("2"))), "update 1 2"},
		"deleted":       {gone, "delete 9 "},
		"came and went": {cameAndWent, "delete 9 "},
		"re-created":    {change(t, pod(), pod(uid, version("3"))), "delete 1 create 3"},
	} {
		called = ""
		ok, err := p.Match(tc.c)
		if ok || err != nil || called != tc.want {
			t.Errorf("%s: %v, %v, called %q; want false and %q", name, ok, err, called, tc.want)
		}
	}
	reset := change(t, pod(version("2")), pod())
	reset.Reset = true
	if ok, err := p.Match(reset); !ok || err != nil {
		t.Errorf("after the server went back: %v, %v; want true", ok, err)
	}
	none := predicate.New(predicate.Funcs[*corev1.Pod]{})
	if ok, err := none.Match(store.Change{New: store.Rejected(object.Header{}, errors.New("garbage"))}); !ok || err != nil {
		t.Errorf("nothing to call: %v, %v; want true without decoding", ok, err)
	}
}

func ExampleNew() {
	started := predicate.New(predicate.Funcs[*corev1.Pod]{
		Update: func(old, new *corev1.Pod) bool { return old.Status.Phase != new.Status.Phase },
	})
	_ = predicate.And(predicate.InNamespace("web"), predicate.Or(predicate.LabelsChanged(), started))
}
