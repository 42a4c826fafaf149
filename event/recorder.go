package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// Options of a Recorder. New reads them once.
type Options struct {
	Limits
	// Controller is the name of the reporting controller, such as "example.com/podscaler": a name,
	// with or without a domain before it. Required.
	Controller string
	// Instance distinguishes the replicas of a controller. Empty means Controller and the host
	// name. At most 128 bytes; longer names are cut.
	Instance string
	// Scheme maps Go types to kinds. Nil means the scheme of the writer, if that is a Client.
	Scheme *runtime.Scheme
	// Timeout of one request. Zero or negative means 10 s.
	Timeout time.Duration
	// FlushTimeout bounds how long Run sends waiting events after its ctx has ended. Zero means 3
	// s. Negative means no flush.
	FlushTimeout time.Duration
	// Logger receives why the server rejects events, once for each reason. Nil means
	// slog.Default().
	Logger *slog.Logger
}

// Recorder queues events and sends them while Run runs. Any goroutine may call its methods.
type Recorder struct {
	w      client.Writer
	o      Options
	runs   atomic.Bool
	wake   chan struct{}
	logged map[string]bool // reasons of rejections that this Run has logged

	mu   sync.Mutex
	core *core
}

// New validates the options. It starts no goroutine. Events recorded before Run wait.
func New(w client.Writer, o Options) (*Recorder, error) {
	if w == nil {
		return nil, &option.Error{Of: "event.New", Field: "writer", Err: errors.New("is nil")}
	}
	problems := validation.IsQualifiedName(o.Controller)
	if len(o.Controller) > maxWord {
		problems = append(problems, fmt.Sprintf("is longer than %d bytes", maxWord))
	}
	if len(problems) > 0 {
		return nil, &option.Error{Of: "event.Options", Field: "Controller", Err: fmt.Errorf("%q: %s", o.Controller, strings.Join(problems, "; "))}
	}
	if o.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		o.Instance = o.Controller[strings.LastIndexByte(o.Controller, '/')+1:] + "-" + host
	}
	o.Instance = cut(o.Instance, maxWord)
	if c, ok := w.(interface{ Scheme() *runtime.Scheme }); ok && o.Scheme == nil {
		o.Scheme = c.Scheme()
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), 10*time.Second)
	o.FlushTimeout = cmp.Or(o.FlushTimeout, 3*time.Second)
	o.Logger = logguard.Logger(o.Logger)
	return &Recorder{w: w, o: o, core: newCore(o.Limits, jitter.Float64), wake: make(chan struct{}, 1)}, nil
}

// Event records that something happened to obj. reason and action are single words, which machines
// may match. format and args are the sentence for people, as in fmt.Sprintf. Event never blocks.
func (r *Recorder) Event(obj object.Object, t Type, reason, action, format string, args ...any) {
	r.Record(Event{Regarding: r.Ref(obj), Type: t, Reason: reason, Action: action, Note: noteText(format, args)})
}

// EventWith is Event with a second object that took part.
func (r *Recorder) EventWith(obj, related object.Object, t Type, reason, action, format string, args ...any) {
	ref := r.Ref(related)
	r.Record(Event{Regarding: r.Ref(obj), Related: &ref, Type: t, Reason: reason, Action: action, Note: noteText(format, args)})
}

func noteText(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// Record queues an event. It never blocks. After Run has returned, it drops the event, until Run is
// called again.
func (r *Recorder) Record(e Event) {
	if e.Related != nil {
		related := *e.Related
		e.Related = &related
	}
	r.step(input{kind: recorded, event: e})
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// step steps the core. waiting is the number of series that wait.
func (r *Recorder) step(in input) (out output, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out = r.core.Step(time.Now(), in)
	return out, r.core.currentStats().Waiting
}

// Ref returns the reference to an object. If neither the object nor the scheme tells its kind, the
// name of its Go type stands in.
func (r *Recorder) Ref(obj object.Object) corev1.ObjectReference {
	if obj == nil || reflect.ValueOf(obj).Kind() == reflect.Pointer && reflect.ValueOf(obj).IsNil() {
		return corev1.ObjectReference{}
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" && r.o.Scheme != nil {
		if kinds, _, err := r.o.Scheme.ObjectKinds(obj); err == nil && len(kinds) > 0 {
			gvk = kinds[0]
		}
	}
	if gvk.Kind == "" {
		gvk.Kind = reflect.Indirect(reflect.ValueOf(obj)).Type().Name()
	}
	return corev1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
}

// Stats returns the counters.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.currentStats()
}

// Run sends events until ctx ends. Then it sends waiting events for up to FlushTimeout, drops the
// others, and returns the cause of ctx. It may be called again after it has returned; before that
// it returns run.ErrRunning.
func (r *Recorder) Run(ctx context.Context) error {
	if !r.runs.CompareAndSwap(false, true) {
		return fmt.Errorf("event recorder: %w", run.ErrRunning)
	}
	defer r.runs.Store(false)
	r.logged = map[string]bool{}
	r.step(input{kind: opened})
	r.send(ctx, true)
	if r.o.FlushTimeout > 0 {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.FlushTimeout)
		defer cancel()
		r.step(input{kind: flush})
		r.send(bound, false)
	}
	r.step(input{kind: closed})
	return context.Cause(ctx)
}
