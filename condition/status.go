package condition

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Status is the status of one object while it is being worked out, from [Begin] to
// [Status.Patch]. It is for one goroutine.
type Status[T any, P object.Ptr[T]] struct {
	obj        P
	before     P
	conditions *[]metav1.Condition
	errs       []error
}

// Begin remembers how the object was read. From then on its status may be changed freely;
// [Status.Patch] sends what differs. conditions points to a field of the object itself, as
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

// True sets a condition to True. The message is made as by fmt.Sprintf.
func (s *Status[T, P]) True(conditionType, reason, format string, args ...any) {
	s.put(conditionType, metav1.ConditionTrue, reason, format, args)
}

// False sets a condition to False. The message is made as by fmt.Sprintf.
func (s *Status[T, P]) False(conditionType, reason, format string, args ...any) {
	s.put(conditionType, metav1.ConditionFalse, reason, format, args)
}

// Unknown sets a condition to Unknown. The message is made as by fmt.Sprintf.
func (s *Status[T, P]) Unknown(conditionType, reason, format string, args ...any) {
	s.put(conditionType, metav1.ConditionUnknown, reason, format, args)
}

func (s *Status[T, P]) put(conditionType string, status metav1.ConditionStatus, reason, format string, args []any) {
	s.Set(metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// Set sets a condition, as observed on the generation of the object as it was read. One that the
// API would refuse is not set, and makes [Status.Patch] fail.
func (s *Status[T, P]) Set(c metav1.Condition) {
	if s.obj == nil {
		return
	}
	c.ObservedGeneration = s.before.GetGeneration()
	if err := Validate(c); err != nil {
		s.errs = append(s.errs, err)
		return
	}
	Set(s.conditions, c, time.Now())
}

// Summarize sets a condition to the [Summary] of others, as they are now.
func (s *Status[T, P]) Summarize(conditionType string, of ...string) {
	if s.obj != nil {
		s.Set(Summary(conditionType, *s.conditions, s.before.GetGeneration(), of...))
	}
}

// Remove takes a condition out.
func (s *Status[T, P]) Remove(conditionType string) { Remove(s.conditions, conditionType) }

// Patch sends what of the status has changed since Begin, or since the last Patch, in one request;
// none where nothing has. The object is then as the server answered, and may be changed and patched
// again. What was changed outside its status is not sent, and lost.
//
// Nothing is written when the object has changed on the server since it was read: the error is a
// *client.ConflictError, to be returned from the reconcile, which is then called again. NotFound says
// that the object is gone. A condition that the API would refuse is an *InvalidError, and then
// nothing is sent.
func (s *Status[T, P]) Patch(ctx context.Context, w client.Writer, opts ...client.WriteOption) error {
	if s.obj == nil {
		return errors.New("status: the object is nil")
	}
	if len(s.errs) > 0 {
		return s.wrap(errors.Join(s.errs...))
	}
	patch := client.DiffStatus(s.before, s.obj)
	switch {
	case patch.Empty():
		return nil
	case s.before.GetResourceVersion() == "":
		return s.wrap(ErrNotRead)
	}
	got, err := client.PatchStatus(ctx, w, s.before, patch, opts...)
	if _, conflict := errors.AsType[*client.ConflictError](err); conflict {
		return s.wrap(fmt.Errorf("nothing is written, since the object changed after it was read: %w", err))
	}
	if err != nil {
		return s.wrap(err)
	}
	*s.obj = *got
	s.before = got.DeepCopyObject().(P)
	return nil
}

func (s *Status[T, P]) wrap(err error) error {
	return fmt.Errorf("status of %s %s: %w", reflect.TypeFor[T]().Name(), object.KeyOf(s.before), err)
}
