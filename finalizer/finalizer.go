package finalizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// Step is one part of a clean-up, made by [Do].
type Step[O object.Object] struct {
	name string
	do   func(context.Context, O) error
}

// Do returns a step; errors name it. do is called again after every failure and every restart. It
// must then do what is left to do, if anything. It may return [Wait] if it must wait for something.
func Do[O object.Object](name string, do func(context.Context, O) error) Step[O] {
	return Step[O]{name: name, do: do}
}

// Run makes sure that the object has the finalizer. Once the object is being deleted, Run calls the
// steps in order and then removes the finalizer. It returns the object to continue with, as the
// server has it. If it returns nil, the reconcile must return [Result] of the error, which may be
// nil.
//
// No step runs while the object lives, or if it does not have the finalizer. No step runs after a
// failed one, or once ctx has ended. An object that is already deleted is not an error. Run does
// not change obj.
//
// An argument that cannot be used is an *[option.Error]. Other errors: *StepError; *WaitError within a *StepError;
// *ChangedError if the object is not as it was read, so that the finalizer was not added or removed; those of the
// client.
func Run[T any, P object.Ptr[T]](ctx context.Context, w client.Writer, obj P, name string, steps ...Step[P]) (P, error) {
	if err := check(obj == nil, name, steps); err != nil {
		return nil, err
	}
	r := run[T, P]{w: w, obj: obj, name: name, at: fmt.Sprintf("%s %s", reflect.TypeFor[T]().Name(), object.KeyOf(obj))}
	has := object.HasFinalizer(obj, name)
	switch {
	case obj.GetDeletionTimestamp() == nil && has:
		return obj, nil
	case obj.GetDeletionTimestamp() == nil:
		return r.add(ctx)
	case has:
		return nil, r.cleanUp(ctx, steps)
	}
	return nil, nil
}

func check[O object.Object](isNil bool, name string, steps []Step[O]) error {
	if isNil {
		return invalid("obj", "is nil")
	}
	if domain, rest, ok := strings.Cut(name, "/"); !ok || domain == "" || rest == "" {
		return invalid("name", fmt.Sprintf("is %q: it must have the form example.com/name", name))
	}
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		return invalid("name", fmt.Sprintf("is %q: %s", name, problems[0]))
	}
	for i, s := range steps {
		same := func(o Step[O]) bool { return o.name == s.name }
		switch field := fmt.Sprintf("steps[%d]", i); {
		case s.name == "":
			return invalid(field, "has no name")
		case s.do == nil:
			return invalid(field, fmt.Sprintf("%q has no function", s.name))
		case slices.ContainsFunc(steps[:i], same):
			return invalid(field, fmt.Sprintf("%q is given twice", s.name))
		}
	}
	return nil
}

type run[T any, P object.Ptr[T]] struct {
	w        client.Writer
	obj      P
	name, at string
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

const path = "/metadata/finalizers"

func (r *run[T, P]) sameObject() operation {
	return operation{"test", "/metadata/uid", r.obj.GetUID()}
}

// add adds the finalizer to the list as it was read. A test of null passes if there is no list.
func (r *run[T, P]) add(ctx context.Context) (P, error) {
	ops := []operation{r.sameObject(), {"test", path, nil}, {"add", path, []string{r.name}}}
	if had := r.obj.GetFinalizers(); len(had) > 0 {
		ops = []operation{r.sameObject(), {"test", path, had}, {"add", path + "/-", r.name}}
	}
	got, err := client.Patch(ctx, r.w, r.obj, client.JSONPatch(ops))
	switch {
	case client.IgnoreNotFound(err) == nil && err != nil:
		return nil, nil
	case changed(err):
		return nil, &ChangedError{Finalizer: r.name, Object: r.at, Err: err}
	case err != nil:
		return nil, fmt.Errorf("add finalizer %s to %s: %w", r.name, r.at, err)
	case got.GetDeletionTimestamp() != nil: // if the server accepted it
		return nil, &ChangedError{Finalizer: r.name, Object: r.at, Err: errors.New("it is being deleted")}
	}
	return got, nil
}

func (r *run[T, P]) cleanUp(ctx context.Context, steps []Step[P]) error {
	for _, s := range steps {
		err := context.Cause(ctx)
		if err == nil {
			err = s.do(ctx, r.obj)
		}
		if err != nil {
			return &StepError{Finalizer: r.name, Object: r.at, Step: s.name, Err: err}
		}
	}
	element := fmt.Sprintf("%s/%d", path, slices.Index(r.obj.GetFinalizers(), r.name))
	type remove struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	_, err := client.Patch(ctx, r.w, r.obj, client.JSONPatch([]any{
		r.sameObject(), operation{"test", element, r.name}, remove{"remove", element},
	}))
	switch {
	case client.IgnoreNotFound(err) == nil:
		return nil
	case changed(err):
		return &ChangedError{Finalizer: r.name, Object: r.at, Err: err}
	}
	return fmt.Errorf("remove finalizer %s from %s: %w", r.name, r.at, err)
}

// changed reports whether the server rejected the patch because the object is not as it was read. A
// failed test is an InvalidError without a field. A new finalizer on an object under deletion is an
// InvalidError of metadata.finalizers.
func changed(err error) bool {
	if _, ok := errors.AsType[*client.ConflictError](err); ok {
		return true
	}
	e, ok := errors.AsType[*client.InvalidError](err)
	return ok && !slices.ContainsFunc(e.Fields, func(f metav1.StatusCause) bool { return f.Field != "metadata.finalizers" })
}

// Result returns the result of a reconcile for which [Run] returned no object: a requeue after the
// time of a [Wait], the error, or nothing.
func Result(err error) (reconcile.Result, error) {
	if w, ok := errors.AsType[*WaitError](err); ok {
		return reconcile.Result{RequeueAfter: w.After}, nil
	}
	return reconcile.Result{}, err
}

// Wait is the error of a step that waits for something outside the program. The steps run again
// after that time, or when the object changes. The finalizer stays until then. Zero and negative
// mean one second. why is for people.
func Wait(after time.Duration, why string) error {
	after = cmp.Or(max(after, 0), time.Second)
	return &WaitError{After: after, Why: why}
}
