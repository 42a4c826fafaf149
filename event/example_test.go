package event_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/object"
)

// printer is a Writer that prints its requests.
type printer struct{}

func (printer) Write(_ context.Context, op client.Op) (object.Object, error) {
	e := op.Object.(*eventsv1.Event)
	fmt.Printf("%s in %s: %s %s/%s: %s, %d times\n", op.Verb, e.Namespace, e.Type, e.Regarding.Name, e.Reason, e.Note, e.Series.Count)
	return e, nil
}

// How do I tell people what my controller did?
func ExampleRecorder() {
	rec, err := event.New(printer{}, event.Options{Controller: "example.com/scaler"})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for range 3 {
		rec.Event(pod, event.Warning, "BadAnnotation", "Scale", "%s is not a number: %q", "pods-per-replica", "ten")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("shutting down"))
	fmt.Println(rec.Run(ctx)) // sends waiting events before it returns
	// Output:
	// create in shop: Warning web/BadAnnotation: pods-per-replica is not a number: "ten", 3 times
	// shutting down
}
