package condition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Status collects the changes of an object's status, from [Begin] to [Status.Patch]. One goroutine
// at a time may use it.
type Status[T any, P object.Ptr[T]] struct {
	obj        P
	before     P
	conditions *[]metav1.Condition
	errs       []error
}

// Begin records the object as it was read. After that its status may be changed freely;
// [Status.Patch] sends the difference. conditions must point to a field of the object itself, as
// &g.Status.Conditions does.
func Begin[T any, P object.Ptr[T]](obj P, conditions *[]metav1.Condition) *Status[T, P] {
	s := &Status[T, P]{obj: obj, conditions: conditions}
	if !within(obj, conditions) {
		s.conditions = new([]metav1.Condition)
		s.errs = append(s.errs, ErrNotInObject)
	}
	if obj != nil {
		s.before = obj.DeepCopyObject().(P)
	}
	return s
}

// within reports whether p points into the struct that obj points to.
func within[T any](obj *T, p *[]metav1.Condition) bool {
	if obj == nil || p == nil {
		return false
	}
	at, begin := reflect.ValueOf(p).Pointer(), reflect.ValueOf(obj).Pointer()
	return at >= begin && at < begin+reflect.TypeFor[T]().Size()
}

// True sets a condition to True. The message is formatted as by fmt.Sprintf.
func (s *Status[T, P]) True(conditionType, reason, format string, args ...any) {
	s.put(conditionType, metav1.ConditionTrue, reason, format, args)
}

// False sets a condition to False. The message is formatted as by fmt.Sprintf.
func (s *Status[T, P]) False(conditionType, reason, format string, args ...any) {
	s.put(conditionType, metav1.ConditionFalse, reason, format, args)
}

// Unknown sets a condition to Unknown. The message is formatted as by fmt.Sprintf.
func (s *Status[T, P]) Unknown(conditionType, reason, format string, args ...any) {
	s.put(conditionType, metav1.ConditionUnknown, reason, format, args)
}

func (s *Status[T, P]) put(conditionType string, status metav1.ConditionStatus, reason, format string, args []any) {
	s.Set(metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// Set sets a condition with the generation of the object as it was read. A message above the API's limit of
// 32 KiB is shortened, and ends with "…". An empty reason becomes "Unspecified". If the API would reject
// the condition for something else, Set does not set it: [Status.Patch] sends the rest and returns the error.
func (s *Status[T, P]) Set(c metav1.Condition) {
	if s.obj == nil {
		return
	}
	c.ObservedGeneration = s.before.GetGeneration()
	c.Message = shorten(strings.ToValidUTF8(c.Message, "\uFFFD"))
	c.Reason = cmp.Or(c.Reason, reasonUnspecified)
	if err := validate(c); err != nil {
		s.errs = append(s.errs, err)
		return
	}
	set(s.conditions, c, time.Now())
}

// Summarize sets a condition to the [Summary] of others, as they are now.
func (s *Status[T, P]) Summarize(conditionType string, of ...string) {
	if s.obj != nil {
		s.Set(Summary(conditionType, *s.conditions, s.before.GetGeneration(), of...))
	}
}

// Remove removes a condition.
func (s *Status[T, P]) Remove(conditionType string) {
	meta.RemoveStatusCondition(s.conditions, conditionType)
}

// Patch sends the changes of the status since Begin, or since the last Patch, in one request. It
// sends none if nothing has changed. Afterwards the object is as the server answered; it may be
// changed and patched again. Changes outside its status are not sent, and are lost.
//
// Patch writes nothing if the object has changed on the server since it was read. The error is then
// a *client.ConflictError: return it from the reconcile, which is called again. A NotFoundError
// says that the object was deleted. A condition that the API would reject is an *InvalidError. It is not
// sent, the rest of the status is, and the next Patch returns no error for it.
func (s *Status[T, P]) Patch(ctx context.Context, w client.Writer, opts ...client.WriteOption) error {
	if s.obj == nil {
		return errors.New("status: the object is nil")
	}
	rejected := errors.Join(s.errs...)
	if errors.Is(rejected, ErrNotInObject) {
		return s.wrap(rejected)
	}
	s.errs = nil
	if err := errors.Join(rejected, s.send(ctx, w, opts)); err != nil {
		return s.wrap(err)
	}
	return nil
}

// send sends the changes of the status.
func (s *Status[T, P]) send(ctx context.Context, w client.Writer, opts []client.WriteOption) error {
	patch := client.DiffStatus(s.before, s.obj)
	switch {
	case patch.Empty():
		return nil
	case s.before.GetResourceVersion() == "":
		return ErrNotRead
	}
	got, err := client.PatchStatus(ctx, w, s.before, patch, opts...)
	if _, conflict := errors.AsType[*client.ConflictError](err); conflict {
		return fmt.Errorf("nothing was written: the object changed after it was read: %w", err)
	}
	if err != nil {
		return err
	}
	*s.obj = *got
	s.before = got.DeepCopyObject().(P)
	return nil
}

func (s *Status[T, P]) wrap(err error) error {
	return fmt.Errorf("status of %s %s: %w", reflect.TypeFor[T]().Name(), object.KeyOf(s.before), err)
}
