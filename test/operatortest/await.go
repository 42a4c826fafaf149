package operatortest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Await watches obj and returns it as soon as ok holds. Otherwise it fails the test, with what the operator has
// logged of the object, and how the object has changed:
//   - at once, on a server in memory, when nothing moves any more. The server's controllers and the operator have
//     nothing to do, now or later. Retries of a reconcile that has failed ten times in a row do not count. A
//     Program.Run is not watched for that. A periodic RequeueAfter always has something to do. What else acts on the
//     server, such as another process of the test, is not seen: wait for that in a loop of your own.
//   - when Program.Bound is over. Until then Await logs twice a minute what it waits for.
func Await[T any, P object.Ptr[T]](t testing.TB, op *Operator, obj P, ok func(P) bool) P {
	t.Helper()
	w := &waiting{t: t, op: op, key: object.KeyOf(obj), what: fmt.Sprintf("%T %s", obj, object.KeyOf(obj))}
	bounded, cancel := context.WithTimeoutCause(t.Context(), op.program.Bound, fmt.Errorf("%v are over", op.program.Bound))
	defer cancel()
	ctx, stop := context.WithCancelCause(bounded)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.judge(ctx, stop)
	}()
	defer func() {
		stop(nil)
		<-ended
	}()
	for {
		opts := []client.ListOption{client.FieldSelector("metadata.name=" + obj.GetName())}
		if ns := obj.GetNamespace(); ns != "" {
			opts = append(opts, client.InNamespace(ns))
		}
		var watch *client.Watcher[P]
		if err := until(ctx, func() (err error) {
			watch, err = client.Watch[T, P](ctx, op.Client, opts...)
			return err
		}); err != nil {
			t.Fatalf("operatortest: %s cannot be watched: %v: %v", w.what, context.Cause(ctx), err)
		}
		for e, err := range watch.Events() {
			if err != nil && ctx.Err() == nil {
				break // the server ends watches
			}
			if err != nil {
				t.Fatalf("operatortest: waited in vain for %s: %v\n%s", w.what, context.Cause(ctx), w.report())
			}
			w.events.Add(1)
			if e.Object == nil {
				continue
			}
			w.saw(e.Object)
			if ok(e.Object) {
				watch.Stop()
				return e.Object
			}
		}
	}
}

// waiting is a call of Await.
type waiting struct {
	t      testing.TB
	op     *Operator
	key    object.Key
	what   string
	events atomic.Int64 // of the watch

	first, last string // as YAML; empty: not seen
}

// saw takes a state of the object.
func (w *waiting) saw(o object.Object) {
	o, _ = o.DeepCopyObject().(object.Object)
	o.SetManagedFields(nil)
	text, err := yaml.Marshal(o)
	if err != nil {
		text = []byte(err.Error())
	}
	if w.last = string(text); w.first == "" {
		w.first = w.last
	}
}

// report tells what has become of the object.
func (w *waiting) report() string {
	var b strings.Builder
	switch {
	case w.last == "":
		b.WriteString("it does not exist\n")
	case w.first == w.last:
		fmt.Fprintf(&b, "it has not changed, and is\n%s", w.last)
	default:
		fmt.Fprintf(&b, "it is\n%sand has changed by\n%s", w.last, cmp.Diff(w.first, w.last))
	}
	if lines := w.op.said.about(w.key); len(lines) > 0 {
		fmt.Fprintf(&b, "the operator has logged, at last:\n\t%s\n", strings.Join(lines, "\n\t"))
	}
	return b.String()
}

const (
	// restCheck is the time between two looks at whether anything moves. It does not if restChecks of them in a row
	// see nothing: a change may be on its way to the operator.
	restCheck  = 100 * time.Millisecond
	restChecks = 20
	// progressEvery is how often Await logs what it waits for.
	progressEvery = 30 * time.Second
)

var errAtRest = errors.New("nothing moves any more")

// judge cancels the wait when nothing moves any more, and logs its progress until ctx ends.
func (w *waiting) judge(ctx context.Context, stop context.CancelCauseFunc) {
	check := time.NewTicker(restCheck)
	defer check.Stop()
	began := time.Now()
	still, before, told := 0, movement{}, began
	for {
		select {
		case <-check.C:
		case <-ctx.Done():
			return
		}
		now := w.op.movement(ctx)
		now.events = w.events.Load()
		if now.why != "" || now != before {
			still = 0
		} else if still++; still == restChecks {
			stop(errAtRest)
		}
		before = now
		if time.Since(told) >= progressEvery {
			told = time.Now()
			lines := append([]string{""}, w.op.said.about(w.key)...)
			w.t.Logf("operatortest: waiting for %s for %v; %s%s", w.what, time.Since(began).Round(time.Second), now.why, strings.Join(lines, "\n\t"))
		}
	}
}
