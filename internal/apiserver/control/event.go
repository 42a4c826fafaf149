package control

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// events is the resource of Events.
var events = NewKind("", "v1", "events")

// Event returns the request for an Event about an object in a namespace. component is the source of the Event;
// apiVersion and kind are those of the object.
func (u User) Event(now time.Time, component, apiVersion, kind string, o metav1.Object, severity, reason, message string) core.Request {
	at := metav1.NewTime(now)
	return u.Create(events, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: o.GetNamespace(), GenerateName: o.GetName() + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()},
		Type:           severity, Reason: reason, Message: message, Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	})
}
