package cert

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// fieldOwner owns the fields that this package writes.
const fieldOwner = client.FieldOwner("flyball-cert")

// liveAPI accesses the API server. A read without a resourceVersion returns the latest state.
type liveAPI struct {
	c   *client.Live
	key object.Key // of the Secret
}

func (d *liveAPI) secret(ctx context.Context) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return found(client.Get[corev1.Secret](ctx, d.c, d.key))
}

func (d *liveAPI) put(ctx context.Context, s *corev1.Secret) (out *corev1.Secret, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if s.ResourceVersion != "" {
		out, err = client.Update(ctx, d.c, s, fieldOwner)
	} else {
		out, err = client.Create(ctx, d.c, s, fieldOwner)
	}
	return out, raced(err)
}

func (d *liveAPI) target(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return found(client.Get[unstructured.Unstructured](ctx, d.c, object.Key{Name: t.name}, client.OfKind(t.kind)))
}

func (d *liveAPI) inject(ctx context.Context, before, after *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := client.Patch(ctx, d.c, before, client.DiffWithLock(before, after), fieldOwner)
	return raced(err)
}

// found returns nil for an object that does not exist.
func found[T any](obj *T, err error) (*T, error) {
	if _, missing := errors.AsType[*client.NotFoundError](err); missing {
		return nil, nil
	}
	return obj, err
}

// raced wraps errRaced around the errors of an object that was changed, deleted or created.
func raced(err error) error {
	_, changed := errors.AsType[*client.ConflictError](err)
	_, missing := errors.AsType[*client.NotFoundError](err)
	_, exists := errors.AsType[*client.AlreadyExistsError](err)
	if changed || missing || exists {
		return fmt.Errorf("%w: %w", errRaced, err)
	}
	return err
}

// watchState is the state of the watch of an object.
type watchState struct{ watched, changed atomic.Bool }

// mayHaveChanged reports whether the object may have changed since the last call.
func (f *watchState) mayHaveChanged() bool { return f.changed.Swap(false) || !f.watched.Load() }

// follow wakes the loop at each change of one object, until ctx ends. Without permission to watch,
// or without a watch, Poll replaces it.
func (m *Managed) follow(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, f *watchState) error {
	fails := backoff.Backoff{Policy: backoff.Policy{Base: time.Second, Max: 30 * time.Second, Jitter: 0.3, ResetAfter: time.Minute}}
	logged := false
	for {
		err := m.watch(ctx, gvk, namespace, name, f)
		f.watched.Store(false)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, forbidden := errors.AsType[*client.ForbiddenError](err); forbidden && !logged {
			logged = true
			m.o.Logger.Warn("a watch is forbidden; changes are noticed by polling", "poll", m.o.Poll, "err", err)
		}
		if err := run.Sleep(ctx, fails.Fail(time.Now())); err != nil {
			return err
		}
	}
}

func (m *Managed) watch(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, f *watchState) error {
	w, err := client.Watch[metav1.PartialObjectMetadata](ctx, m.c, client.OfKind(gvk), client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer w.Stop()
	f.changed.Store(true) // the watch does not report changes before its start
	f.watched.Store(true)
	for ev, err := range w.Events() {
		if err != nil {
			return err
		}
		if ev.Type == watch.Bookmark {
			continue
		}
		f.changed.Store(true)
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
	return nil
}
