package ctrl

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	crrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/event"
)

// NewEventRecorderFor returns a recorder with the interface that GetEventRecorderFor of controller-runtime
// returns. The events are of events.k8s.io/v1, with the name of the program as the reporting controller, and
// with the reason as the action. Annotations are dropped.
func NewEventRecorderFor(mgr *flyball.Manager) record.EventRecorder {
	return recordRecorder{recorder{mgr.Events(), mgr.Scheme()}}
}

// NewEventRecorder returns a recorder with the interface that GetEventRecorder of controller-runtime returns.
// The name of the program is the reporting controller. Annotations are dropped.
func NewEventRecorder(mgr *flyball.Manager) crrecorder.EventRecorder {
	return recorder{mgr.Events(), mgr.Scheme()}
}

// recorder implements recorder.EventRecorder of controller-runtime.
type recorder struct {
	to     *event.Recorder
	scheme *runtime.Scheme
}

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	if len(args) > 0 {
		note = fmt.Sprintf(note, args...)
	}
	e := event.Event{Type: event.Type(kind), Reason: reason, Action: action, Note: note}
	ref, err := reference.GetReference(r.scheme, regarding)
	if err != nil {
		return // there is nothing that the event could be about
	}
	e.Regarding = *ref
	if ref := r.related(related); ref != nil {
		e.Related = ref
	}
	r.to.Record(e)
}

// AnnotatedEventf implements events.AnnotatedEventRecorder.
func (r recorder) AnnotatedEventf(regarding, related runtime.Object, _ map[string]string, kind, reason, action, note string, args ...any) {
	r.Eventf(regarding, related, kind, reason, action, note, args...)
}

func (r recorder) related(obj runtime.Object) *corev1.ObjectReference {
	if obj == nil {
		return nil
	}
	ref, err := reference.GetReference(r.scheme, obj)
	if err != nil {
		return nil
	}
	return ref
}

// recordRecorder implements record.EventRecorder.
type recordRecorder struct{ recorder }

// Event implements record.EventRecorder.
func (r recordRecorder) Event(obj runtime.Object, kind, reason, message string) {
	r.recorder.Eventf(obj, nil, kind, reason, reason, message)
}

// Eventf implements record.EventRecorder.
func (r recordRecorder) Eventf(obj runtime.Object, kind, reason, format string, args ...any) {
	r.recorder.Eventf(obj, nil, kind, reason, reason, format, args...)
}

// AnnotatedEventf implements record.EventRecorder.
func (r recordRecorder) AnnotatedEventf(obj runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.recorder.Eventf(obj, nil, kind, reason, reason, format, args...)
}
