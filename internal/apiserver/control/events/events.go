// Package events has the controller that writes Events.
//
//	what controllers tell ────────────▶ Event: an object, a reason, a message ──▶ one record for equal ones
//	requests that they make, answers ─▶ (a Pod was created, a Pod was bound)          │ count, last time
//	                                                                                  ▼
//	                                              POST of a new record, PATCH of one that was written before
//
// It counts as the recorders of the real controllers do. Equal Events are one with a count. Ten Events with one reason
// about one object become one that says so. One component writes 25 times about an object, and then once in five
// minutes. An Event is written once in a round, whatever has been added to it.
package events

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Resources of Events in their older API, and in the newer one.
var (
	older = control.NewKind("", "v1", "events")
	newer = control.NewKind("events.k8s.io", "v1", "events")
)

// New returns the controller.
func New(control.Options) control.Controller {
	return &recorder{objects: map[types.UID]*object{}, sent: map[string]*record{}}
}

// recorder is the controller. It forgets what it knows of an object when that is gone.
type recorder struct {
	objects map[types.UID]*object
	unsaid  []*record          // that are to be written
	sent    map[string]*record // that are being written, by the key of the request
	named   int64              // how many names were chosen
}

// record is one Event.
type record struct {
	event       control.Event // the last one
	component   string
	about       corev1.ObjectReference
	combined    bool
	name        string // once it is chosen
	first, last time.Time
	count       int32
	written     bool
	unsaid      bool
	bucket      *bucket
}

func (*recorder) Name() string { return "event-recorder" }

// Tell adds an Event to its record.
func (r *recorder) Tell(now time.Time, s *control.State, e control.Event) {
	m := s.Meta(e.Key)
	if m == nil {
		return
	}
	o := r.objects[m.UID]
	if o == nil {
		o = &object{}
		r.objects[m.UID] = o
	}
	x := o.find(now, e, component(e.User))
	if x.count++; x.count == 1 {
		x.first = now
	}
	x.about = corev1.ObjectReference{
		APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: fmt.Sprint(s.Get(e.Key).Version)}
	x.event, x.last = e, now
	r.add(x)
}

func (r *recorder) add(x *record) {
	if !x.unsaid {
		x.unsaid = true
		r.unsaid = append(r.unsaid, x)
	}
}

// Step writes the records that are new or have changed.
func (r *recorder) Step(now time.Time, _ *control.State, changes []control.Change) (requests []control.Request, _ time.Time) {
	for _, c := range changes {
		if c.Was != nil && (c.Is == nil || c.Is.UID != c.Was.UID) {
			delete(r.objects, c.Was.UID)
		}
	}
	clear(r.sent)
	for _, x := range r.unsaid {
		x.unsaid = false
		if x.event.Action == "" && !x.bucket.take(now) {
			continue
		}
		if x.name == "" {
			r.named++
			x.name = name(x.about, now.UnixNano()+r.named)
		}
		key := cmp.Or(x.about.Namespace, metav1.NamespaceDefault) + "/" + x.name
		r.sent[key] = x
		requests = append(requests, control.Request{Request: x.request(), Key: key})
		x.written = true
	}
	r.unsaid = nil
	return requests, time.Time{}
}

// Answer writes a record anew whose name is taken, or that somebody has deleted.
func (r *recorder) Answer(_ time.Time, q control.Request, a core.Answer) {
	x := r.sent[q.Key]
	if taken := q.Method == "POST" && a.Code == 409; taken || q.Method == "PATCH" && a.Code == 404 {
		x.name, x.written = "", false
		r.add(x)
	}
}

// name returns the name of an Event about an object. The real recorders choose it by the time, too.
func name(about corev1.ObjectReference, at int64) string {
	text := fmt.Sprintf("%s.%x", about.Name, at)
	if len(text) > 253 {
		return fmt.Sprintf("%s.%x", about.UID, at)
	}
	return text
}

// request returns the request that writes a record.
func (x *record) request() core.Request {
	meta := metav1.ObjectMeta{Namespace: cmp.Or(x.about.Namespace, metav1.NamespaceDefault), Name: x.name}
	severity := corev1.EventTypeNormal
	if x.event.Warning {
		severity = corev1.EventTypeWarning
	}
	first, last := metav1.NewTime(x.first), metav1.NewTime(x.last)
	u := x.event.User
	if x.event.Action != "" {
		if x.written {
			return u.Merge(newer, meta.Namespace, meta.Name, "", map[string]any{"series": eventsv1.EventSeries{Count: x.count, LastObservedTime: metav1.NewMicroTime(x.last)}})
		}
		return u.Create(newer, &eventsv1.Event{
			ObjectMeta: meta, EventTime: metav1.NewMicroTime(x.first), ReportingController: x.component, ReportingInstance: x.component + "-0",
			Action: x.event.Action, Reason: x.event.Reason, Regarding: x.about, Note: x.event.Message, Type: severity,
		})
	}
	message, reporter := x.event.Message, x.component
	if x.combined {
		message, reporter = "(combined from similar events): "+message, ""
	}
	if x.written {
		return u.Merge(older, meta.Namespace, meta.Name, "", map[string]any{"count": x.count, "lastTimestamp": last, "message": message})
	}
	return u.Create(older, &corev1.Event{
		ObjectMeta: meta, InvolvedObject: x.about, Type: severity, Reason: x.event.Reason, Message: message, Count: x.count,
		FirstTimestamp: first, LastTimestamp: last, Source: corev1.EventSource{Component: x.component}, ReportingController: reporter,
	})
}
