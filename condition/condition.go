package condition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The reasons that [Summary] gives where no condition has one.
const (
	// ReasonAllTrue: all conditions are True.
	ReasonAllTrue = "AllTrue"
	// ReasonMissing: a condition is not there.
	ReasonMissing = "Missing"
	// ReasonOutdated: a condition is about an older generation of the object.
	ReasonOutdated = "Outdated"
)

// Find returns the condition of a type.
func Find(conditions []metav1.Condition, conditionType string) (metav1.Condition, bool) {
	if i := index(conditions, conditionType); i >= 0 {
		return conditions[i], true
	}
	return metav1.Condition{}, false
}

// IsTrue reports whether the condition is True and about this generation of the object: one that
// was observed on an older generation says nothing about what the object asks for now.
func IsTrue(conditions []metav1.Condition, conditionType string, generation int64) bool {
	c, ok := Find(conditions, conditionType)
	return ok && c.Status == metav1.ConditionTrue && c.ObservedGeneration >= generation
}

func index(conditions []metav1.Condition, conditionType string) int {
	return slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == conditionType })
}

// Set puts c into the list, in the place of the one of its type or at the end, and reports
// whether the list changed. LastTransitionTime is that of the condition before, if its status is
// the same, and now if not; the one in c is not looked at. A list that others share is not written
// to: it is replaced by another.
func Set(conditions *[]metav1.Condition, c metav1.Condition, now time.Time) bool {
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	i := index(*conditions, c.Type)
	if i < 0 {
		*conditions = append(slices.Clip(*conditions), c)
		return true
	}
	was := (*conditions)[i]
	if was.Status == c.Status && !was.LastTransitionTime.IsZero() {
		c.LastTransitionTime = was.LastTransitionTime
	}
	if was == c {
		return false
	}
	*conditions = slices.Clone(*conditions)
	(*conditions)[i] = c
	return true
}

// Remove takes the condition of a type out of the list and reports whether it was there.
func Remove(conditions *[]metav1.Condition, conditionType string) bool {
	i := index(*conditions, conditionType)
	if i < 0 {
		return false
	}
	*conditions = slices.Delete(slices.Clone(*conditions), i, i+1)
	return true
}

// Summary is one condition that stands for others, all of which are good when True: False when
// one of them is False, else Unknown when one is Unknown, missing or about an older generation,
// else True. Its reason is that of the first one that decided; its message tells of all that are
// not True. Without others it is Unknown.
func Summary(conditionType string, conditions []metav1.Condition, generation int64, of ...string) metav1.Condition {
	out := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: ReasonAllTrue, ObservedGeneration: generation}
	if len(of) == 0 {
		out.Status, out.Reason = metav1.ConditionUnknown, ReasonMissing
	}
	var says []string
	for _, t := range of {
		c, ok := Find(conditions, t)
		switch {
		case !ok:
			c = metav1.Condition{Status: metav1.ConditionUnknown, Reason: ReasonMissing, Message: "not known yet"}
		case c.ObservedGeneration < generation:
			c = metav1.Condition{Status: metav1.ConditionUnknown, Reason: ReasonOutdated, Message: "known of an older generation only"}
		}
		if c.Status == metav1.ConditionTrue {
			continue
		}
		if c.Message == "" {
			c.Message = c.Reason
		}
		says = append(says, t+": "+c.Message)
		if out.Status == metav1.ConditionTrue || out.Status == metav1.ConditionUnknown && c.Status == metav1.ConditionFalse {
			out.Status, out.Reason = c.Status, c.Reason
		}
	}
	out.Message = shorten(strings.Join(says, "; "))
	return out
}

// maxMessage is how many bytes the API lets a message have.
const maxMessage = 32 * 1024

func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage-len("…")], "") + "…"
}

// InvalidError is the error for a condition that the API would refuse. Nothing was sent.
type InvalidError struct {
	// Type of the condition; it may be what is wrong.
	Type string
	// Fields that are wrong, and why.
	Fields field.ErrorList
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("condition %q: %v", e.Type, e.Fields.ToAggregate())
}

// Validate checks type, status, reason, message and observedGeneration by the rules of the API.
// The error is an *InvalidError. lastTransitionTime is not looked at: [Set] gives it.
func Validate(c metav1.Condition) error {
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = metav1.NewTime(time.Unix(1, 0))
	}
	if errs := validation.ValidateCondition(c, nil); len(errs) > 0 {
		return &InvalidError{Type: c.Type, Fields: errs}
	}
	return nil
}

var (
	// ErrNotInObject says that the conditions given to Begin are not a field of the object that was
	// given, so that they would not be sent with it.
	ErrNotInObject = errors.New("the conditions are no field of this object")
	// ErrNotRead says that the object has no resourceVersion: it does not come from a server.
	ErrNotRead = errors.New("the object has no resourceVersion: it was not read from a server")
)
