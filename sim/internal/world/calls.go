package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
)

// verbOf returns the verb of a request, in the words of Kubernetes.
func verbOf(r core.Request, t core.Target, watch bool) string {
	named := t.Name != ""
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Applies():
		return "apply"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete && named:
		return "delete"
	case r.Method == http.MethodDelete:
		return "deletecollection"
	case watch:
		return "watch"
	case t.Resource == "" || named:
		return "get"
	}
	return "list"
}

// object returns the object of a request as points name it.
func object(r core.Request, t core.Target) string {
	if t.Resource == "" {
		path, _, _ := strings.Cut(r.URL, "?")
		return path
	}
	out := resourceOf(t)
	if t.Namespace != "" {
		out += "/" + t.Namespace
	}
	if t.Name != "" {
		out += "/" + t.Name
	}
	if t.Subresource != "" {
		out += "/" + t.Subresource
	}
	return out
}

// heartbeat reports whether requests of a kind are part of every program's life. They are no points, and a program that
// makes them is at rest.
func heartbeat(resource string) bool {
	return resource == "events" || resource == "events.events.k8s.io" || resource == leases
}

// meet takes up a call: a fault of the plan may happen to it.
func (w *world) meet(c *call) {
	if c.http == nil {
		p := c.from.process
		w.out.Queued[p.program.Name] = w.out.Queued[p.program.Name] || c.queue
		c.reply <- reply{last: p.lastFirst}
		return
	}
	t := c.req.Target()
	c.at = plan.Point{Program: c.from.process.program.Name, Step: w.step, Verb: verbOf(c.req, t, watches(c.req.URL)), Object: object(c.req, t)}
	beats := heartbeat(resourceOf(t))
	if !beats {
		w.count(&c.at)
	}
	switch {
	case time.Now().Before(c.from.process.away):
		w.logCall(c, 0, "the server cannot be reached")
		c.fail(errUnreachable)
		return
	case beats:
		w.identify(c)
		w.answer(c, nil)
		return
	}
	f := w.fault(c.at)
	if again := c.from.process.program.Name + " " + path(c.req.URL); c.at.Verb == "watch" && w.refused[again] != "" {
		f = &plan.Fault{Kind: w.refused[again], At: c.at}
		delete(w.refused, again)
	}
	switch {
	case f == nil:
		w.answer(c, nil)
	case f.Kind == plan.NextStep:
		w.log(laneFault, "the user does the next step before %s", c.at)
		w.early()
		w.answer(c, nil)
	case f.Kind == plan.Outage || f.Kind == plan.Partition:
		w.outage(c.from.process, f.Kind)
		w.logCall(c, 0, "the server cannot be reached")
		c.fail(errUnreachable)
	case f.Kind == plan.CrashBefore:
		w.log(laneFault, "%s crashes before %s", c.from.process, c.at)
		c.fail(errDead)
		c.from.process.restart()
	case f.Kind == plan.Behind:
		w.log(laneFault, "%s waits, all else goes on", c.at)
		w.first = c
	default:
		w.answer(c, f)
	}
}

// watches reports whether a URL asks for a watch.
func watches(url string) bool {
	return strings.Contains(url, "watch=true") || strings.Contains(url, "watch=1")
}

// count gives a point its number, and notes it.
func (w *world) count(at *plan.Point) {
	at.Nth = 0
	w.counts[*at]++
	at.Nth = w.counts[*at]
	w.out.Points = append(w.out.Points, *at)
}

// fault returns the fault of the plan at a point; nil if there is none.
func (w *world) fault(at plan.Point) *plan.Fault {
	for i := range w.c.Plan {
		if f := &w.c.Plan[i]; f.At == at && !w.out.Met[i] {
			w.out.Met[i] = true
			return f
		}
	}
	return nil
}

// answer answers a call, as a fault has it.
func (w *world) answer(c *call, f *plan.Fault) {
	kind := plan.Kind("")
	if f != nil {
		kind = f.Kind
	}
	if code := kind.Code(); code > 0 {
		a := c.req.Refuse(refusal(code, c.req))
		w.logCall(c, code, "a fault")
		c.reply <- reply{resp: c.response(a)}
		return
	}
	if kind == plan.RequestLost {
		w.logCall(c, 0, "lost before it arrived")
		c.reply <- reply{err: io.ErrUnexpectedEOF}
		return
	}
	if kind == plan.Touched {
		w.touch(c.req)
	}
	called := w.called
	w.hooksAway = kind == plan.HooksAway
	a := w.perform(c)
	w.hooksAway = false
	if w.called > called && w.c.Webhooks != nil {
		w.out.Hooked[c.at] = true
	}
	switch kind {
	case plan.CrashAfter:
		w.logCall(c, a.Code, "then it crashes")
		c.fail(errDead)
		c.from.process.restart()
		return
	case plan.Lost:
		w.logCall(c, a.Code, "the answer is lost")
		c.reply <- reply{err: io.ErrUnexpectedEOF}
		return
	case plan.Reversed:
		w.reversed[resourceOf(c.req.Target())] = true
		w.logCall(c, a.Code, "in the opposite order from now on")
	default:
		w.logCall(c, a.Code, "")
	}
	if a.Watch == nil {
		if c.at.Verb == "list" && w.reversed[resourceOf(c.req.Target())] {
			a.Body = reversed(a.Body)
		}
		if resourceOf(c.req.Target()) == leases {
			a.Body = w.drawn.back(a.Body)
		}
		c.reply <- reply{resp: c.response(a)}
		return
	}
	s := newStream(c, a.Watch, resourceOf(c.req.Target()))
	c.from.streams = append(c.from.streams, s)
	c.from.hush(s)
	c.from.process.w.watched[c.from.process.program.Name+" "+path(c.req.URL)] = true
	resp := c.response(a)
	resp.Header.Set("Content-Type", "application/json")
	if a.Watch.Protobuf() {
		resp.Header.Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
	}
	resp.Body = s
	c.reply <- reply{resp: resp}
}

func path(url string) string {
	p, _, _ := strings.Cut(url, "?")
	return p
}

// perform carries a call out, and notes what the program learns and destroys by it.
func (w *world) perform(c *call) core.Answer {
	t := c.req.Target()
	resource := resourceOf(t)
	read := c.req.Method == http.MethodGet || c.req.Method == http.MethodHead
	key := keyOf(t)
	if read {
		a := w.viewFor(c, resource).Read(time.Now(), c.req)
		if a.Code < 300 && a.Watch == nil && t.Resource != "" {
			c.from.sees(w.state.Now(), key, t.Name != "")
		}
		return a
	}
	before := w.state.Now()
	w.blind(c, before, key, t)
	if !heartbeat(resource) {
		w.fenced(c)
	}
	a := w.stepWithHooks(c.req)
	w.changes(c, before)
	w.managers[managerOf(c.req)] = true
	if resource == leases {
		w.elects(c.from, key)
	}
	if a.Code < 300 && t.Name != "" && c.req.Method != http.MethodDelete {
		c.from.sees(w.state.Now(), key, true)
	}
	return a
}

// viewFor returns the view that a read is answered from: the informers of a stale program see the past.
func (w *world) viewFor(c *call, resource string) core.View {
	p := c.from.process
	now := w.state.Now()
	if p.stale == nil || !watches(c.req.URL) && (c.at.Verb != "list" || !w.watched[p.program.Name+" "+path(c.req.URL)]) {
		return now
	}
	if !watches(c.req.URL) && slices.ContainsFunc(c.from.streams, func(s *stream) bool { return path(s.url) == path(c.req.URL) && !s.closed() }) {
		return now // its informer has listed: this list is one of the program
	}
	return p.stale.of(resource, now)
}

// keyOf returns the key of an object, or the prefix of the keys of a collection.
func keyOf(t core.Target) string {
	group := t.Group
	if group == "" {
		group = "core"
	}
	out := "/" + group + "/" + t.Resource + "/"
	if t.Namespace != "" {
		out += t.Namespace + "/"
	}
	return out + t.Name
}

// sees notes that the program has been shown an object, or a collection.
func (i *incarnation) sees(v core.View, key string, one bool) {
	if one {
		if o := v.Get(key); o != nil {
			i.saw(o)
		}
		return
	}
	for o := range v.All(key) {
		i.saw(o)
	}
}

func (i *incarnation) saw(o *core.Object) {
	if i.uids[o.Key] == nil {
		i.uids[o.Key] = map[string]bool{}
	}
	i.uids[o.Key][judge.UID(o)] = true
}

// blind alarms if a delete meets an object that the program cannot have meant: another one than that which it has seen
// under the name, or one that belongs to another object than that which it has seen under the owner's name.
func (w *world) blind(c *call, v core.View, key string, t core.Target) {
	o := v.Get(key)
	if c.req.Method != http.MethodDelete || t.Name == "" || o == nil || leaves(o) {
		return
	}
	if uid := anyUID.Find(c.req.Body); uid != nil && string(uid) != judge.UID(o) {
		return // the server refuses it
	}
	if seen := c.from.uids[key]; len(seen) > 0 && !seen[judge.UID(o)] && !anyUID.Match(c.req.Body) {
		w.alarm("%s deletes %s, which has another uid than the object that it has seen under this name", c.from.process, judge.Name(key))
	}
	owners := map[string]bool{}
	for _, uid := range anyUID.FindAllString(string(o.JSON), -1) {
		owners[uid] = uid != judge.UID(o)
	}
	for x := range v.All("/") {
		if seen := c.from.uids[x.Key]; owners[judge.UID(x)] && len(seen) > 0 && !seen[judge.UID(x)] {
			w.alarm("%s deletes %s, which belongs to %s of another uid than the one that it has seen", c.from.process, judge.Name(key), judge.Name(x.Key))
		}
	}
}

var anyUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (w *world) alarm(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.log(laneWrong, "%s", text)
	if !slices.Contains(w.out.Alarms, text) {
		w.out.Alarms = append(w.out.Alarms, text)
	}
}

// changes counts what a call has deleted, and notes the time of a write. The call is nil for the user.
func (w *world) changes(c *call, before core.View) {
	all, ok := w.state.Now().Changes(before.Version())
	if !ok {
		return
	}
	now := time.Now()
	for _, ch := range all {
		if !w.wrote.Equal(now) && !heartbeat(judge.ResourceOf(ch.Object.Key)) && !sameButTimes(ch) {
			w.wrote = now
		}
		if c == nil || ch.Old == nil || leaves(ch.Old) || !ch.Deleted && !leaves(ch.Object) {
			continue
		}
		if o := w.base.Get(ch.Object.Key); o != nil && judge.UID(o) == judge.UID(ch.Old) {
			w.deleted[ch.Object.Key]++
		}
	}
}

// leaves reports whether an object is being deleted.
func leaves(o *core.Object) bool { return bytes.Contains(o.JSON, []byte(`"deletionTimestamp"`)) }

var times = regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"|"resourceVersion":"[0-9]+"|"generation":[0-9]+|"observedGeneration":[0-9]+`)

// sameButTimes reports whether a change leaves an object as it is, but for times.
func sameButTimes(ch core.Change) bool {
	return ch.Old != nil && !ch.Deleted && bytes.Equal(times.ReplaceAll(ch.Old.JSON, nil), times.ReplaceAll(ch.Object.JSON, nil))
}

// refusal returns the error of a code for a request.
func refusal(code int, r core.Request) *metav1.Status {
	s := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Details: &metav1.StatusDetails{}}
	switch code {
	case 403:
		s.Reason, s.Message = metav1.StatusReasonForbidden, "forbidden, by a fault of the simulation"
	case 404:
		s.Reason, s.Message = metav1.StatusReasonNotFound, "the server could not find the requested resource"
	case 409:
		s.Reason, s.Message = metav1.StatusReasonConflict, "the object has been modified, by a fault of the simulation"
		if r.Method == http.MethodPost {
			s.Message = "the quota of the namespace has been modified, by a fault of the simulation" // an object that exists would be there
		}
	case 410:
		s.Reason, s.Message = metav1.StatusReasonExpired, "too old resource version, by a fault of the simulation"
	case 422:
		s.Reason, s.Message = metav1.StatusReasonInvalid, "the object is invalid, by a fault of the simulation"
	case 429:
		s.Reason, s.Message = metav1.StatusReasonTooManyRequests, "too many requests, by a fault of the simulation"
		s.Details.RetryAfterSeconds = 1
	case 503:
		s.Reason, s.Message = metav1.StatusReasonServiceUnavailable, "unavailable, by a fault of the simulation"
	default:
		s.Reason, s.Message = metav1.StatusReasonInternalError, "internal error, by a fault of the simulation"
	}
	return s
}

// reversed returns a list with its items in the opposite order.
func reversed(body []byte) []byte {
	var list map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(body, &list) != nil || json.Unmarshal(list["items"], &items) != nil {
		return body
	}
	slices.Reverse(items)
	var err error
	if list["items"], err = json.Marshal(items); err != nil {
		return body
	}
	if out, err := json.Marshal(list); err == nil {
		return out
	}
	return body
}

// digest returns a number for a text, so that traces show when bodies differ.
func digest(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}
