package condition_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/object"
)

func cond(typ string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: typ, Status: status, Reason: reason, Message: message}
}

func TestSetMovesTheTransitionTimeWithTheStatus(t *testing.T) {
	at := func(c metav1.Condition, seconds int64) metav1.Condition {
		c.LastTransitionTime = metav1.NewTime(time.Unix(seconds, 0))
		return c
	}
	had := at(cond("A", metav1.ConditionTrue, "R", "m"), 100)
	other := at(cond("B", metav1.ConditionFalse, "R", ""), 50)
	generation := had
	generation.ObservedGeneration = 7
	for name, tc := range map[string]struct {
		list    []metav1.Condition
		set     metav1.Condition
		want    []metav1.Condition
		changed bool
	}{
		"the first":                 {nil, cond("A", metav1.ConditionTrue, "R", "m"), []metav1.Condition{at(had, 200)}, true},
		"another":                   {[]metav1.Condition{other}, cond("A", metav1.ConditionTrue, "R", "m"), []metav1.Condition{other, at(had, 200)}, true},
		"the same":                  {[]metav1.Condition{had, other}, cond("A", metav1.ConditionTrue, "R", "m"), []metav1.Condition{had, other}, false},
		"the same, its time said":   {[]metav1.Condition{had}, at(had, 1), []metav1.Condition{had}, false},
		"the status flips":          {[]metav1.Condition{had, other}, cond("A", metav1.ConditionFalse, "R", "m"), []metav1.Condition{at(cond("A", metav1.ConditionFalse, "R", "m"), 200), other}, true},
		"the reason changes":        {[]metav1.Condition{had}, cond("A", metav1.ConditionTrue, "S", "m"), []metav1.Condition{at(cond("A", metav1.ConditionTrue, "S", "m"), 100)}, true},
		"the message changes":       {[]metav1.Condition{had}, cond("A", metav1.ConditionTrue, "R", "n"), []metav1.Condition{at(cond("A", metav1.ConditionTrue, "R", "n"), 100)}, true},
		"the generation changes":    {[]metav1.Condition{had}, generation, []metav1.Condition{generation}, true},
		"without a transition time": {[]metav1.Condition{cond("A", metav1.ConditionTrue, "R", "m")}, cond("A", metav1.ConditionTrue, "R", "m"), []metav1.Condition{at(had, 200)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]metav1.Condition(nil), tc.list...)
			list := tc.list
			if changed := condition.Set(&list, tc.set, time.Unix(200, 999)); changed != tc.changed {
				t.Errorf("changed: %v", changed)
			}
			if diff := cmp.Diff(tc.want, list); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, append([]metav1.Condition(nil), tc.list...)); diff != "" {
				t.Errorf("the list that others have was written to: %s", diff)
			}
		})
	}
	list := []metav1.Condition{had, other}
	if condition.Remove(&list, "C") || !condition.Remove(&list, "A") || !cmp.Equal(list, []metav1.Condition{other}) {
		t.Errorf("removed: %v", list)
	}
}

func TestSummaryIsTheWorstCondition(t *testing.T) {
	yes, no, unknown := cond("Yes", metav1.ConditionTrue, "Fine", "fine"), cond("No", metav1.ConditionFalse, "Broken", "it broke"), cond("Unknown", metav1.ConditionUnknown, "Asking", "")
	old := cond("Old", metav1.ConditionTrue, "Fine", "")
	for _, c := range []*metav1.Condition{&yes, &no, &unknown} {
		c.ObservedGeneration = 2
	}
	old.ObservedGeneration = 1
	list := []metav1.Condition{yes, no, unknown, old}
	for of, want := range map[string]metav1.Condition{
		"Yes":            cond("Ready", metav1.ConditionTrue, "AllTrue", ""),
		"Yes No":         cond("Ready", metav1.ConditionFalse, "Broken", "No: it broke"),
		"Unknown No":     cond("Ready", metav1.ConditionFalse, "Broken", "Unknown: Asking; No: it broke"),
		"No Unknown":     cond("Ready", metav1.ConditionFalse, "Broken", "No: it broke; Unknown: Asking"),
		"Yes Unknown":    cond("Ready", metav1.ConditionUnknown, "Asking", "Unknown: Asking"),
		"Yes Absent":     cond("Ready", metav1.ConditionUnknown, "Missing", "Absent: not set yet"),
		"Old":            cond("Ready", metav1.ConditionUnknown, "Outdated", "Old: observed on an older generation"),
		"Absent Old Yes": cond("Ready", metav1.ConditionUnknown, "Missing", "Absent: not set yet; Old: observed on an older generation"),
		"":               cond("Ready", metav1.ConditionUnknown, "Missing", ""),
	} {
		want.ObservedGeneration = 2
		got := condition.Summary("Ready", list, 2, strings.Fields(of)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of %q: %s", of, diff)
		}
	}
	long := cond("Long", metav1.ConditionFalse, "R", strings.Repeat("é", 16*1024))
	if err := condition.Validate(condition.Summary("Ready", []metav1.Condition{long}, 0, "Long")); err != nil {
		t.Error(err)
	}
	if condition.IsTrue(list, "Old", 2) || condition.IsTrue(list, "No", 2) || condition.IsTrue(list, "Absent", 2) || !condition.IsTrue(list, "Yes", 2) {
		t.Error("IsTrue")
	}
}

// writer records requests and answers with the object of the request.
type writer struct{ sent []client.Op }

func (w *writer) Write(_ context.Context, op client.Op) (object.Object, error) {
	w.sent = append(w.sent, op)
	return op.Object.DeepCopyObject().(object.Object), nil
}

// A condition that the API would reject is named and left out. The rest of the status is sent.
func TestInvalidConditionsAreNotSent(t *testing.T) {
	for name, tc := range map[string]struct {
		set   metav1.Condition
		field string
	}{
		"no type":     {cond("", metav1.ConditionTrue, "R", ""), "type"},
		"bad type":    {cond("not ready", metav1.ConditionTrue, "R", ""), "type"},
		"no status":   {cond("A", "", "R", ""), "status"},
		"bad status":  {cond("A", "Maybe", "R", ""), "status"},
		"bad reason":  {cond("A", metav1.ConditionTrue, "it broke", ""), "reason"},
		"long reason": {cond("A", metav1.ConditionTrue, strings.Repeat("R", 1025), ""), "reason"},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "1"}}, &writer{}
			st := condition.Begin(s, &s.Status.Conditions)
			st.Set(tc.set)
			st.True("Fine", "Said", "")
			err := st.Patch(t.Context(), w)
			if e, ok := errors.AsType[*condition.InvalidError](err); !ok || len(e.Fields) == 0 || e.Fields[0].Field != tc.field {
				t.Errorf("got %v, want the field %s", err, tc.field)
			}
			if got := sentConditions(t, w); len(got) != 1 || got[0].Type != "Fine" {
				t.Errorf("sent %v, want Fine alone", got)
			}
			if err := st.Patch(t.Context(), w); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// sentConditions returns the conditions of the one patch that was sent.
func sentConditions(t testing.TB, w *writer) []metav1.Condition {
	t.Helper()
	if len(w.sent) != 1 {
		t.Fatalf("%d requests", len(w.sent))
	}
	var patch struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(w.sent[0].Patch.Bytes(), &patch); err != nil {
		t.Fatal(err)
	}
	return patch.Status.Conditions
}

// Whatever a reconciler has to say, such as the error of a program: the condition is one that the API takes.
func TestAnyMessageIsSent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		unit := rapid.SampledFrom([]string{"m", "é", "😀", "\x00", "\xff", "\n", "%d"}).Draw(rt, "unit")
		n := rapid.SampledFrom([]int{0, 1, 1000, 32*1024 - 1, 32 * 1024, 32*1024 + 1, 100_000}).Draw(rt, "bytes")
		message := rapid.SampledFrom([]string{"", "a", "ab", "abc"}).Draw(rt, "before") + strings.Repeat(unit, n/len(unit)+1)[:n]
		reason := rapid.SampledFrom([]string{"", "R", "Said"}).Draw(rt, "reason")
		s, w := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "1"}}, &writer{}
		st := condition.Begin(s, &s.Status.Conditions)
		st.Set(metav1.Condition{Type: "A", Status: metav1.ConditionFalse, Reason: reason, Message: message})
		if err := st.Patch(t.Context(), w); err != nil {
			rt.Fatal(err)
		}
		got := sentConditions(t, w)
		if len(got) != 1 {
			rt.Fatalf("sent %d conditions", len(got))
		}
		if err := condition.Validate(got[0]); err != nil {
			rt.Error(err)
		}
		if reason == "" && got[0].Reason != "Unspecified" || reason != "" && got[0].Reason != reason {
			rt.Errorf("the reason %q became %q", reason, got[0].Reason)
		}
		if valid := strings.ToValidUTF8(message, "\uFFFD"); len(valid) <= 32*1024 && got[0].Message != valid {
			rt.Errorf("a message of %d bytes has changed", len(valid))
		}
	})
}

func TestUnreadObjectsAreNotSent(t *testing.T) {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "1"}}
	for name, tc := range map[string]struct {
		s          *corev1.Service
		conditions *[]metav1.Condition
		want       error
		says       string
	}{
		"conditions of a copy":    {s, &s.DeepCopy().Status.Conditions, condition.ErrNotInObject, "status of Service s: the conditions are not a field"},
		"no conditions":           {s, nil, condition.ErrNotInObject, ""},
		"no object":               {nil, &s.Status.Conditions, nil, "the object is nil"},
		"an object of the user's": {&corev1.Service{}, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conditions, w := tc.conditions, &writer{}
			if tc.s != nil && tc.s != s {
				conditions, tc.want = &tc.s.Status.Conditions, condition.ErrNotRead
			}
			st := condition.Begin(tc.s, conditions)
			st.True("Fine", "Said", "")
			st.Summarize("Ready", "Fine")
			st.Remove("Other")
			err := st.Patch(t.Context(), w)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || len(w.sent) > 0 {
				t.Errorf("got %v, sent %v", err, w.sent)
			}
		})
	}
}

// A condition holds the generation on which it was observed, and the time of its last transition.
func TestConditionKeepsGenerationAndTransitionTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().Truncate(time.Second)
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "1", Generation: 4}}
		st := condition.Begin(s, &s.Status.Conditions)
		st.False("Ready", "Waits", "")
		time.Sleep(time.Minute)
		st.False("Ready", "WaitsStill", "")
		got, _ := condition.Find(s.Status.Conditions, "Ready")
		if !got.LastTransitionTime.Time.Equal(began) || got.ObservedGeneration != 4 {
			t.Errorf("got %+v", got)
		}
		st.True("Ready", "Works", "")
		if got, _ := condition.Find(s.Status.Conditions, "Ready"); !got.LastTransitionTime.Time.Equal(began.Add(time.Minute)) {
			t.Errorf("got %+v", got)
		}
	})
}

// printer prints requests.
type printer struct{}

func (printer) Write(_ context.Context, op client.Op) (object.Object, error) {
	fmt.Println(op.Verb, op.Subresource, string(op.Patch.Bytes()))
	return op.Object.DeepCopyObject().(object.Object), nil
}

func ExampleBegin() {
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	// As a reconcile reads it: an earlier one has set the condition already.
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "guests", ResourceVersion: "41", Generation: 2},
		Status: corev1.ServiceStatus{Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Starting", ObservedGeneration: 1, LastTransitionTime: since},
		}},
	}

	st := condition.Begin(service, &service.Status.Conditions)
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "guests.example.com"}}
	st.True("Ready", "Answers", "%d Pods answer", 3)
	if err := st.Patch(context.Background(), printer{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// patch status {"metadata":{"resourceVersion":"41"},"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"3 Pods answer","observedGeneration":2,"reason":"Answers","status":"True","type":"Ready"}],"loadBalancer":{"ingress":[{"hostname":"guests.example.com"}]}}}
}

func ExampleSummary() {
	conditions := []metav1.Condition{
		{Type: "Deployed", Status: metav1.ConditionTrue, Reason: "Applied"},
		{Type: "Reachable", Status: metav1.ConditionFalse, Reason: "NoEndpoints", Message: "no Pod is ready"},
	}
	c := condition.Summary("Ready", conditions, 0, "Deployed", "Reachable")
	fmt.Println(c.Status, c.Reason, "-", c.Message)
	// Output: False NoEndpoints - Reachable: no Pod is ready
}
