package child

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// maxReads is how often a child is read that others create and delete at the same time.
const maxReads = 4

// run reads the child, from the client's view first, and creates or changes it if needed.
func (e *ensure) run(ctx context.Context, into object.Object) (object.Object, Change, error) {
	e.into = into
	err := e.get(ctx, into, client.GetOptions{})
	if err == nil {
		return e.change(ctx, into)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, Unchanged, err
	}
	var exists error
	for range maxReads {
		live := fresh(into)
		err := e.get(ctx, live, client.GetOptions{Live: true})
		if err == nil {
			return e.change(ctx, live)
		}
		unreadable := cannotRead(err)
		if client.IgnoreNotFound(err) != nil && !unreadable {
			return nil, Unchanged, err
		}
		if e.generate != nil {
			if err := e.generate(); err != nil {
				return nil, Unchanged, err
			}
			e.generate = nil
		}
		got, err := e.apply(ctx, true)
		if _, raced := errors.AsType[*client.AlreadyExistsError](err); !raced || unreadable {
			return got, Created, err
		}
		exists = err
	}
	return nil, Unchanged, exists
}

// fresh returns a new object of o's type.
func fresh(o object.Object) object.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(object.Object)
}

func (e *ensure) get(ctx context.Context, into object.Object, o client.GetOptions) error {
	if object.Untyped(into) {
		into.GetObjectKind().SetGroupVersionKind(e.gvk)
	}
	return e.c.Get(ctx, object.KeyOf(e.want), into, o)
}

// cannotRead reports whether the program cannot read the child from the server: it lacks the permission,
// or its client has no server.
func cannotRead(err error) bool {
	_, forbidden := errors.AsType[*client.ForbiddenError](err)
	return forbidden || errors.Is(err, client.ErrNotLive)
}

// change applies to an existing child if that is ours and differs.
func (e *ensure) change(ctx context.Context, live object.Object) (object.Object, Change, error) {
	if err := taken(e.owner, e.parent, live, e.name); err != nil && !(err.By == nil && e.o.adopt) {
		return nil, Unchanged, err
	}
	if live.GetDeletionTimestamp() != nil {
		return nil, Unchanged, ErrDeleted
	}
	if e.o.once {
		return live, Unchanged, nil
	}
	field, err := e.difference(live)
	if err != nil {
		return nil, Unchanged, err
	}
	if field == "" && !e.mustTakeOver(live) {
		repeated.Remove(live.GetUID())
		return live, Unchanged, nil
	}
	before, moved := e.withManagedFields(ctx, live), false
	if len(e.o.takeOver) > 0 {
		if moved, err = client.TakeOver(ctx, e.c, live, e.o.fieldOwner, e.o.takeOver...); err != nil {
			return nil, Unchanged, err
		}
	}
	reconcile.Logger(ctx).Debug("child differs", "child", e.name, "field", field)
	e.want.SetUID(live.GetUID())
	got, err := e.apply(ctx, false)
	if schema, ok := errors.AsType[*client.SchemaError](err); ok && schema.OtherVersion {
		got, err = e.applyInNewVersion(ctx, err)
	}
	if invalid, ok := errors.AsType[*client.InvalidError](err); ok && e.o.recreate && !errors.Is(err, ErrReplaced) {
		return nil, Unchanged, e.recreate(ctx, live, invalid, err)
	}
	if err != nil {
		return nil, Unchanged, err
	}
	e.reportKept(ctx, before, got)
	if !moved && got.GetResourceVersion() == live.GetResourceVersion() {
		return got, Unchanged, nil
	}
	if n := noteRepeat(live.GetUID(), field); n == warnRepeated {
		reconcile.Logger(ctx).Warn("child differs in the same field at every call: a value that is generated is for child.Once", "child", e.name, "field", field, "times", n)
	}
	return got, Updated, nil
}

// applyInNewVersion moves the managed fields of the child to the version of what is wanted, and applies again. refused
// is the error of the first apply.
func (e *ensure) applyInNewVersion(ctx context.Context, refused error) (object.Object, error) {
	moved, err := client.MoveFields(ctx, e.c, e.want, e.o.fieldOwner)
	if err != nil {
		return nil, fmt.Errorf("%w; and its managed fields do not move to %s: %w", refused, e.gvk.GroupVersion(), err)
	}
	if !moved {
		return nil, refused
	}
	reconcile.Logger(ctx).Info("managed fields of the child were in another version", "child", e.name, "version", e.gvk.GroupVersion().String())
	return e.apply(ctx, false)
}
