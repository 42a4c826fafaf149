package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Event is one event of a [Watcher]. A Bookmark has no object; it may be the first event of a kind
// without objects.
type Event[P object.Object] struct {
	// Type is watch.Added, watch.Modified, watch.Deleted or watch.Bookmark.
	Type watch.EventType
	// Object is the state after the event, or the last state for Deleted. The caller owns it. It is
	// nil for a Bookmark.
	Object P
	// ResourceVersion is where the next watch may start.
	ResourceVersion string
}

// WatchClosedError is the normal end of a watch: the server closed it, as it does after some minutes,
// or the connection ended between two events. Watch again from ResourceVersion.
type WatchClosedError struct {
	Call
	// ResourceVersion is that of the last event. It is empty if there was none and the watch
	// began without a version.
	ResourceVersion string
}

func (e *WatchClosedError) Error() string { return fmt.Sprintf("%s: closed by the server", e.Call) }

// Unwrap returns io.EOF.
func (e *WatchClosedError) Unwrap() error { return io.EOF }

// Watcher is a running watch. Events is for one goroutine; Stop may be called by any.
type Watcher[P object.Object] struct {
	call    Call
	resp    *http.Response
	frames  *wire.Watch
	guard   *time.Timer
	cancel  context.CancelCauseFunc
	ctx     context.Context
	fresh   func() P
	version string

	stop sync.Once
}

var errStopped = errors.New("the watch was stopped")

// Watch streams the events of a type, without a cache:
//
//	w, err := client.Watch[corev1.Pod](ctx, c, client.InNamespace("web"))
//	…
//	defer w.Stop()
//	for ev, err := range w.Events() { … }
//
// The events start after the resourceVersion of [AtVersion]. Without one the server first sends the
// objects that exist, as Added events. An option that only a list can honor, such as a Limit, is an
// [ArgumentError].
//
// The server ends a watch after five to ten minutes. On a dead connection the watch ends half a minute
// after that, with a [TimeoutError]. The connection is freed by Stop, or when ctx ends.
func Watch[T any, P object.Ptr[T]](ctx context.Context, c *Live, opts ...ListOption) (*Watcher[P], error) {
	var o ListOptions
	if err := o.Apply(opts...); err != nil {
		return nil, err
	}
	proto := P(new(T))
	gvk, err := kindOf(verbWatch, c.scheme, proto, o.Kind)
	if err != nil {
		return nil, err
	}
	if err := o.watches(proto); err != nil {
		return nil, err
	}
	t, err := c.resolve(ctx, verbWatch, gvk, object.Key{Namespace: o.Namespace}, "", true)
	if err != nil {
		return nil, err
	}
	o.Match = "" // the API has it for lists only
	query := listQuery(&o)
	last := 5*time.Minute + jitter.N(5*time.Minute)
	watchParameters(query, wire.WatchQuery{Timeout: last})
	wctx, cancel := context.WithCancelCause(ctx)
	kind := c.wireKind(gvk, proto)
	frames, resp, err := stream(wctx, c, t, kind, encodingFor(proto), request{query: query, stream: true}, wire.NewWatch)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &Watcher[P]{
		call: t.call, resp: resp, frames: frames, ctx: wctx, cancel: cancel,
		guard:   time.AfterFunc(last+30*time.Second, func() { cancel(errSilent) }),
		fresh:   func() P { return P(new(T)) },
		version: o.ResourceVersion,
	}, nil
}

// watches returns an error for an option that a watch of objects like proto cannot honor.
func (o *ListOptions) watches(proto object.Object) error {
	more := *o
	more.Kind, more.Selection, more.ResourceVersion, more.EvenUnavailable = schema.GroupVersionKind{}, Selection{}, "", false
	if more.Match == metav1.ResourceVersionMatchNotOlderThan {
		more.Match = "" // AtVersion sets it for lists
	}
	switch {
	case more != (ListOptions{}):
		return &ArgumentError{Call: Call{Verb: verbWatch}, Argument: "Limit, Continue, Match, Inconsistent", Problem: "have no meaning for a watch"}
	case o.MetadataOnly && formOf(proto) != metadataForm:
		return notMetadata(verbWatch)
	}
	return watchable(&o.Selection)
}

// Stop ends the watch. A loop over the events then ends without an error. Stop may be called more than
// once and from any goroutine.
func (w *Watcher[P]) Stop() {
	w.stop.Do(func() {
		w.guard.Stop()
		w.cancel(errStopped)
		w.frames.Close()
	})
}

// Events yields the events in the order of the server, and blocks between them. For an object that
// cannot be decoded it yields an Event with only a Type, and a [*wire.DecodeError]; the sequence
// continues. Any other error ends the sequence: [WatchClosedError], [GoneError] if the version is too
// old, [TimeoutError], [UnavailableError], [ResponseError], or the end of ctx. After Stop there is no
// error. Events stops the watch when the loop ends.
func (w *Watcher[P]) Events() iter.Seq2[Event[P], error] {
	return func(yield func(Event[P], error) bool) {
		defer w.Stop()
		for {
			ev, err := w.next()
			if context.Cause(w.ctx) == errStopped {
				return
			}
			if !yield(ev, err) || err != nil && !wire.IsObjectError(err) {
				return
			}
		}
	}
}

func (w *Watcher[P]) next() (Event[P], error) {
	f, err := w.frames.Next()
	var ev Event[P]
	if f.Type != 0 {
		ev.Type = watch.EventType(f.Type.String())
	}
	switch {
	case err == io.EOF:
		return ev, &WatchClosedError{Call: w.call, ResourceVersion: w.version}
	case context.Cause(w.ctx) == errSilent:
		return ev, connectionError(context.Background(), w.ctx, w.call, nil, err)
	case wire.IsObjectError(err):
		return ev, err
	case err != nil:
		return ev, streamError(w.call, w.resp, err)
	case f.Type == wire.Error:
		return ev, statusError(w.call, *f.Status, 0)
	case f.Type == wire.Bookmark:
		w.version, ev.ResourceVersion = f.ResourceVersion, f.ResourceVersion
		return ev, nil
	}
	obj := w.fresh()
	if err := f.Object.Decode(obj); err != nil {
		return ev, err
	}
	if asked := w.call.Key.Namespace; asked != "" && obj.GetNamespace() != asked {
		return ev, badAnswer(w.call, w.resp, fmt.Errorf("an event of %q, which is in another namespace than asked for", object.KeyOf(obj)))
	}
	ev.Object, ev.ResourceVersion = obj, obj.GetResourceVersion()
	w.version = ev.ResourceVersion
	return ev, nil
}
