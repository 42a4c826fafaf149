package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// story is a controller that says once what it is given.
type story struct{ next []control.Request }

func (*story) Name() string { return "story" }
func (s *story) Step(time.Time, *control.State, []control.Change) ([]control.Request, time.Time) {
	next := s.next
	s.next = nil
	return next, time.Time{}
}
func (*story) Answer(time.Time, control.Request, core.Answer) {}

var user = control.ServiceAccount("replicaset-controller")

const owner = "/apps/replicasets/ns/web"

// world has a ReplicaSet, a StatefulSet and a Pod, a controller and the recorder.
type world struct {
	*controltest.World
	t       *testing.T
	story   *story
	now     time.Time
	answers func(control.Request) core.Answer
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, story: &story{}, now: controltest.Now, answers: func(control.Request) core.Answer { return core.Answer{Code: 201} }}
	w.World = controltest.New(t, func(control.Options) control.Controller { return w.story }, New)
	w.Put(owner, partial("apps/v1", "ReplicaSet", "web"))
	w.Put("/apps/statefulsets/ns/db", partial("apps/v1", "StatefulSet", "db"))
	w.Put("/batch/cronjobs/ns/often", partial("batch/v1", "CronJob", "often"))
	w.Put("/core/pods/ns/p", partial("v1", "Pod", "p"))
	return w
}

func partial(apiVersion, kind, name string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid")}}
}

// run lets the controller say something, and steps until all is done. It returns the requests about Events as text.
func (w *world) run(next ...control.Request) (out []string) {
	w.t.Helper()
	w.story.next = next
	for {
		requests := w.Requests(w.now)
		if len(requests) == 0 {
			return out
		}
		for _, r := range requests {
			if strings.Contains(r.URL, "/events") {
				out = append(out, shown(w.t, r))
			}
			w.Answer(w.now, r, w.answers(r))
		}
	}
}

// shown is what a request about an Event says.
func shown(t *testing.T, r control.Request) string {
	t.Helper()
	if r.Method == "PATCH" {
		return "PATCH " + string(r.Body)
	}
	if strings.HasPrefix(r.URL, "/apis/") {
		var e eventsv1.Event
		if err := json.Unmarshal(r.Body, &e); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s %s %s: %s (%s, %s)", e.Regarding.Kind, e.Type, e.Reason, e.Note, e.ReportingController, e.Action)
	}
	var e corev1.Event
	if err := json.Unmarshal(r.Body, &e); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s: %s (%s, %d)", e.InvolvedObject.Kind, e.Type, e.Reason, e.Message, e.Source.Component, e.Count)
}

func tell(message string) control.Request {
	return control.Request{Event: &control.Event{User: user, Key: owner, Reason: "R", Message: message}}
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Requests of controllers are told of, with what became of them.
func TestRequestsAreTold(t *testing.T) {
	status := func(code int, reason metav1.StatusReason, cause metav1.CauseType) core.Answer {
		text, err := json.Marshal(metav1.Status{Code: int32(code), Message: "it says", Reason: reason, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: cause}}}})
		if err != nil {
			t.Fatal(err)
		}
		return core.Answer{Code: code, Body: text}
	}
	made := core.Answer{Code: 201, Body: []byte(`{"metadata":{"name":"db-0"}}`)}
	const pods, claims, jobs = "/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/persistentvolumeclaims", "/apis/batch/v1/namespaces/ns/jobs"
	const set, cron = "/apps/statefulsets/ns/db", "/batch/cronjobs/ns/often"
	for _, c := range []struct {
		account, key, method, url, body string
		answer                          core.Answer
		want                            string
	}{
		{"replicaset-controller", owner, "POST", pods, `{}`, made, "ReplicaSet Normal SuccessfulCreate: Created pod: db-0 (replicaset-controller, 1)"},
		{"replicaset-controller", owner, "POST", pods, `{}`, status(403, "Forbidden", ""), "ReplicaSet Warning FailedCreate: Error creating: it says (replicaset-controller, 1)"},
		{"replicaset-controller", owner, "POST", pods, `{}`, status(403, "Forbidden", corev1.NamespaceTerminatingCause), ""},
		{"replicaset-controller", owner, "DELETE", pods + "/a", ``, core.Answer{Code: 200}, "ReplicaSet Normal SuccessfulDelete: Deleted pod: a (replicaset-controller, 1)"},
		{"replicaset-controller", owner, "DELETE", pods + "/a", ``, status(404, "NotFound", ""), ""},
		{"replicaset-controller", owner, "DELETE", pods + "/a", ``, status(500, "", ""), "ReplicaSet Warning FailedDelete: Error deleting: it says (replicaset-controller, 1)"},
		{"replicaset-controller", owner, "PUT", "/apis/apps/v1/namespaces/ns/replicasets/web/status", `{}`, core.Answer{Code: 200}, ""},
		{"replicaset-controller", owner, "POST", pods, `{}`, core.Answer{}, ""}, // it was lost
		{"daemon-set-controller", owner, "POST", pods, `{}`, made, "ReplicaSet Normal SuccessfulCreate: Created pod: db-0 (daemonset-controller, 1)"},
		{"statefulset-controller", set, "POST", pods, `{}`, made, "StatefulSet Normal SuccessfulCreate: Create Pod db-0 in StatefulSet db successful (statefulset-controller, 1)"},
		{"statefulset-controller", set, "DELETE", pods + "/db-0", ``, core.Answer{Code: 200}, "StatefulSet Normal SuccessfulDelete: Delete Pod db-0 in StatefulSet db successful (statefulset-controller, 1)"},
		{"statefulset-controller", set, "POST", pods, `{"metadata":{"name":"db-1"}}`, status(422, "Invalid", ""), "StatefulSet Warning FailedCreate: Create Pod db-1 in StatefulSet db failed error: it says (statefulset-controller, 1)"},
		{"statefulset-controller", set, "POST", pods, `{"metadata":{"name":"db-1"}}`, status(409, "AlreadyExists", ""), ""},
		{"statefulset-controller", set, "POST", claims, `{}`, core.Answer{Code: 201, Body: []byte(`{"metadata":{"name":"data-db-0"}}`)}, "StatefulSet Normal SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success (statefulset-controller, 1)"},
		{"statefulset-controller", set, "POST", claims, `{"metadata":{"name":"data-db-0"}}`, status(403, "Forbidden", ""), "StatefulSet Warning FailedCreate: Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: it says (statefulset-controller, 1)"},
		{"cronjob-controller", cron, "POST", jobs, `{}`, made, "CronJob Normal SuccessfulCreate: Created job db-0 (cronjob-controller, 1)"},
		{"cronjob-controller", cron, "POST", jobs, `{}`, status(403, "Forbidden", ""), "CronJob Warning FailedCreate: Error creating job: it says (cronjob-controller, 1)"},
		{"cronjob-controller", cron, "DELETE", jobs + "/a", ``, core.Answer{Code: 200}, "CronJob Normal SuccessfulDelete: Deleted job a (cronjob-controller, 1)"},
		{"deployment-controller", owner, "POST", "/apis/apps/v1/namespaces/ns/replicasets", `{"metadata":{"name":"a"}}`, status(403, "Forbidden", ""), `ReplicaSet Warning ReplicaSetCreateError: Failed to create new replica set "a": it says (deployment-controller, 1)`},
		{"deployment-controller", owner, "POST", "/apis/apps/v1/namespaces/ns/replicasets", `{}`, made, ""},
		{"ttl-after-finished-controller", owner, "DELETE", jobs + "/a", ``, core.Answer{Code: 200}, ""},
		{"", "/core/pods/ns/p", "POST", pods + "/p/binding", `{"target":{"name":"n"}}`, core.Answer{Code: 201}, "Pod Normal Scheduled: Successfully assigned ns/p to n (default-scheduler, Binding)"},
		{"", "/core/pods/ns/p", "POST", pods + "/p/binding", `{"target":{"name":"n"}}`, status(409, "Conflict", ""), ""},
	} {
		w := newWorld(t)
		w.answers = func(r control.Request) core.Answer {
			if strings.Contains(r.URL, "/events") {
				return core.Answer{Code: 201}
			}
			return c.answer
		}
		by := control.ServiceAccount(c.account)
		if c.account == "" {
			by = control.User{Name: scheduler}
		}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		check(t, w.run(control.Request{Request: by.Do(c.method, c.url, "application/json", []byte(c.body)), Key: c.key}), want...)
	}
}

// An Event is told when the requests of its key have succeeded, and not if one of them has failed.
func TestEventsWaitForRequests(t *testing.T) {
	w := newWorld(t)
	do := func(key string) control.Request {
		return control.Request{Request: core.Request{Method: "PUT", URL: "/api/v1/namespaces/ns/pods" + key}, Key: key}
	}
	w.answers = func(r control.Request) core.Answer {
		if r.Key == "/bad" {
			return core.Answer{Code: 500}
		}
		return core.Answer{Code: 200}
	}
	say := func(key string) control.Request {
		r := tell(key)
		r.Key = key
		return r
	}
	check(t, w.run(do("/bad"), say("/bad"), do("/good"), say("/good"), say("/none")),
		"ReplicaSet Normal R: /none (replicaset-controller, 1)", "ReplicaSet Normal R: /good (replicaset-controller, 1)")
	gone := tell("gone")
	gone.Event.Key = "/apps/replicasets/ns/gone"
	check(t, w.run(gone))
}

// Equal Events are one with a count, and many that differ in their message become one.
func TestSimilarEvents(t *testing.T) {
	w := newWorld(t)
	check(t, w.run(tell("a"), tell("a")), "ReplicaSet Normal R: a (replicaset-controller, 2)")
	w.now = w.now.Add(time.Second)
	check(t, w.run(tell("a")), `PATCH {"count":3,"lastTimestamp":"2026-01-01T00:00:01Z","message":"a"}`)
	var many []control.Request
	for i := range 20 {
		many = append(many, tell(fmt.Sprint(i)))
	}
	got := w.run(many...)
	if len(got) != 9 || got[8] != "ReplicaSet Normal R: (combined from similar events): 19 (replicaset-controller, 12)" {
		t.Errorf("%d: %s", len(got), strings.Join(got, "\n"))
	}
	check(t, w.run(tell("x")), `PATCH {"count":13,"lastTimestamp":"2026-01-01T00:00:01Z","message":"(combined from similar events): x"}`)
	w.now = w.now.Add(forgotten + time.Second)
	check(t, w.run(tell("x")), "ReplicaSet Normal R: x (replicaset-controller, 1)")
}

// One component writes so many times about an object, and then one more after a while.
func TestEventsAreBounded(t *testing.T) {
	w := newWorld(t)
	n := 0
	for range 40 {
		n += len(w.run(tell("a")))
	}
	if n != burst {
		t.Errorf("%d writes", n)
	}
	w.now = w.now.Add(refill)
	check(t, w.run(tell("a")), `PATCH {"count":41,"lastTimestamp":"2026-01-01T00:05:00Z","message":"a"}`)
	check(t, w.run(tell("a")))
}

// An Event that was deleted is written anew, and one whose name is taken has another name.
func TestEventsAreWrittenAnew(t *testing.T) {
	w := newWorld(t)
	var names []string
	w.answers = func(r control.Request) core.Answer {
		if names = append(names, r.Key); len(names) == 1 {
			return core.Answer{Code: 409}
		}
		return core.Answer{Code: 201}
	}
	check(t, w.run(tell("a")), "ReplicaSet Normal R: a (replicaset-controller, 1)", "ReplicaSet Normal R: a (replicaset-controller, 1)")
	if names[0] == names[1] {
		t.Errorf("the name %s twice", names[0])
	}
	w.answers = func(r control.Request) core.Answer {
		if r.Method == "PATCH" {
			return core.Answer{Code: 404}
		}
		return core.Answer{Code: 201}
	}
	got := w.run(tell("a"))
	if len(got) != 2 || got[1] != "ReplicaSet Normal R: a (replicaset-controller, 2)" {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// With an object go the counts of its Events.
func TestEventsOfAnotherObject(t *testing.T) {
	w := newWorld(t)
	w.run(tell("a"))
	w.Delete(owner)
	next := partial("apps/v1", "ReplicaSet", "web")
	next.UID = "another"
	w.Put(owner, next)
	w.run()
	check(t, w.run(tell("a")), "ReplicaSet Normal R: a (replicaset-controller, 1)")
}
