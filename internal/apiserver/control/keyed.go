package control

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/backoff"
)

// Keyed is a controller that reconciles one key after the other. Keys wait in the order in which they were
// added. A key whose request has failed is reconciled again after a delay that doubles each time.
type Keyed struct {
	// Title is the name of the controller.
	Title string
	// Map adds the keys to reconcile after a change.
	Map func(s *State, c Change, add func(key string))
	// Reconcile returns the requests for a key, in order. After a failed request the others are not made. A key is
	// reconciled again after a change that adds it, after a failed request, and at Result.At.
	Reconcile func(now time.Time, s *State, key string) Result
	// Failed returns the requests to make after another one has failed. It may be nil.
	Failed func(now time.Time, s *State, key string, r core.Request, status *metav1.Status) []core.Request

	queue    queue
	attempts map[string]int // how often requests of a key have failed in a row
	failures []failure
	troubles []trouble // of the last step
}

// Result is the result of a reconcile.
type Result struct {
	Requests []core.Request
	// Events are told when the requests have succeeded.
	Events []Event
	// At is when to reconcile the key again; zero if nobody needs to.
	At time.Time
	// Err says why the object cannot be reconciled, for people. Nothing else comes of it before the object changes.
	Err error
}

// failure is a failed request.
type failure struct {
	request Request
	status  *metav1.Status
}

// retries is the backoff after failed requests.
var retries = backoff.Policy{Base: 5 * time.Millisecond, Max: 1000 * time.Second}

// Name is the title.
func (k *Keyed) Name() string { return k.Title }

// Step reconciles all keys that changes have added, and those whose time has come.
func (k *Keyed) Step(now time.Time, s *State, changes []Change) (requests []Request, due time.Time) {
	for _, c := range changes {
		k.mapped(s, c)
	}
	for _, f := range k.failures {
		for _, r := range k.Failed(now, s, f.request.Key, f.request.Request, f.status) {
			requests = append(requests, Request{Request: r, Key: f.request.Key})
		}
	}
	k.failures = nil
	for _, key := range k.queue.ready(now) {
		result := k.reconcile(now, s, key)
		for _, r := range result.Requests {
			requests = append(requests, Request{Request: r, Key: key})
		}
		for _, e := range result.Events {
			requests = append(requests, Request{Key: key, Event: &e})
		}
		if len(result.Requests) == 0 {
			delete(k.attempts, key)
		}
		if !result.At.IsZero() {
			k.queue.at(key, result.At)
		}
	}
	return requests, k.queue.due()
}

// mapped adds the keys to reconcile after a change.
func (k *Keyed) mapped(s *State, c Change) {
	defer func() {
		if p := recover(); p != nil {
			k.troubles = append(k.troubles, troubleOf(c.Key, p))
		}
	}()
	k.Map(s, c, k.queue.add)
}

// reconcile returns the result for one key. A panic costs only that key: it is reconciled again after its next change.
func (k *Keyed) reconcile(now time.Time, s *State, key string) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{}
			k.troubles = append(k.troubles, troubleOf(key, p))
		}
	}()
	if r = k.Reconcile(now, s, key); r.Err != nil {
		k.troubles = append(k.troubles, trouble{key, r.Err.Error()})
	}
	return r
}

// troubled returns the troubles of the last step.
func (k *Keyed) troubled() []trouble {
	out := k.troubles
	k.troubles = nil
	return out
}

// Answer schedules the retry of a key whose request has failed.
func (k *Keyed) Answer(now time.Time, r Request, a core.Answer) {
	if !Failed(r.Request, a) {
		return
	}
	if k.Failed != nil {
		k.failures = append(k.failures, failure{r, statusOf(a)})
	}
	if k.attempts == nil {
		k.attempts = map[string]int{}
	}
	k.attempts[r.Key]++
	k.queue.at(r.Key, now.Add(retries.Delay(k.attempts[r.Key], 0)))
}

// statusOf returns the Status in an answer. It is empty if there is none, as after a cut connection.
func statusOf(a core.Answer) *metav1.Status {
	s := &metav1.Status{Code: int32(a.Code)}
	if json.Unmarshal(a.Body, s) != nil {
		s.Message = string(a.Body)
	}
	return s
}
