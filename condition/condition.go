package condition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	reasonAllTrue  = "AllTrue"
	reasonMissing  = "Missing"
	reasonOutdated = "Outdated"
	// reasonUnspecified is the reason of a condition that was set without one. The API takes no empty reason.
	reasonUnspecified = "Unspecified"
)

// Find returns the condition of a type, and whether there is one.
func Find(conditions []metav1.Condition, conditionType string) (metav1.Condition, bool) {
	if c := meta.FindStatusCondition(conditions, conditionType); c != nil {
		return *c, true
	}
	return metav1.Condition{}, false
}

// IsTrue reports whether the condition is True for this generation of the object. A condition of an
// older generation says nothing about the current spec.
func IsTrue(conditions []metav1.Condition, conditionType string, generation int64) bool {
	c, ok := Find(conditions, conditionType)
	return ok && c.Status == metav1.ConditionTrue && c.ObservedGeneration >= generation
}

// set puts c into the list, in place of the condition of its type or at the end. It reports whether
// the list changed. LastTransitionTime stays if the status stays, and becomes now otherwise; that
// of c is ignored. set does not write to the old list, which may be shared: it replaces the slice.
func set(conditions *[]metav1.Condition, c metav1.Condition, now time.Time) bool {
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	own := slices.Clone(*conditions)
	if old := meta.FindStatusCondition(own, c.Type); old != nil && old.LastTransitionTime.IsZero() {
		old.Status = "" // the time of its transition is unknown: it becomes now
	}
	changed := meta.SetStatusCondition(&own, c)
	if changed {
		*conditions = own
	}
	return changed
}

// Summary returns one condition for several others that are good when True. It is False if one of
// them is False. Otherwise it is Unknown if one is Unknown, missing or of an older generation.
// Otherwise it is True. Its reason is that of the first condition that decides. It is
// "Missing" or "Outdated" if that one does not exist or is of an older generation, and "AllTrue" if none decides. The
// message lists all that are not True. Without others it is Unknown.
func Summary(conditionType string, conditions []metav1.Condition, generation int64, of ...string) metav1.Condition {
	out := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reasonAllTrue, ObservedGeneration: generation}
	if len(of) == 0 {
		out.Status, out.Reason = metav1.ConditionUnknown, reasonMissing
	}
	var messages []string
	for _, t := range of {
		c, ok := Find(conditions, t)
		switch {
		case !ok:
			c = metav1.Condition{Status: metav1.ConditionUnknown, Reason: reasonMissing, Message: "not set yet"}
		case c.ObservedGeneration < generation:
			c = metav1.Condition{Status: metav1.ConditionUnknown, Reason: reasonOutdated, Message: "observed on an older generation"}
		}
		if c.Status == metav1.ConditionTrue {
			continue
		}
		c.Message = cmp.Or(c.Message, c.Reason)
		messages = append(messages, t+": "+c.Message)
		if out.Status == metav1.ConditionTrue || out.Status == metav1.ConditionUnknown && c.Status == metav1.ConditionFalse {
			out.Status, out.Reason = c.Status, c.Reason
		}
	}
	out.Message = shorten(strings.Join(messages, "; "))
	return out
}

// maxMessage is the API's limit of a message in bytes.
const maxMessage = 32 * 1024

func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage-len("…")], "") + "…"
}

// InvalidError says that the API would reject a condition. Nothing was sent.
type InvalidError struct {
	// Type of the condition; it may be the invalid part.
	Type string
	// Fields that are invalid, and why.
	Fields field.ErrorList
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("condition %q: %v", e.Type, e.Fields.ToAggregate())
}

// validate checks type, status, reason, message and observedGeneration by the rules of the API. The
// error is an *InvalidError. validate ignores lastTransitionTime, which set fills in.
func validate(c metav1.Condition) error {
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = metav1.NewTime(time.Unix(1, 0))
	}
	if errs := validation.ValidateCondition(c, nil); len(errs) > 0 {
		return &InvalidError{Type: c.Type, Fields: errs}
	}
	return nil
}

var (
	// ErrNotInObject says that the conditions given to Begin are not a field of the given object. A
	// patch of the object would not send them.
	ErrNotInObject = errors.New("the conditions are not a field of this object")
	// ErrNotRead says that the object has no resourceVersion: it was not read from a server.
	ErrNotRead = errors.New("the object has no resourceVersion: it was not read from a server")
)
