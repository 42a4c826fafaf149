package reflector

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsTooLarge(t *testing.T) {
	cause := func(c metav1.StatusCause) *metav1.StatusDetails {
		return &metav1.StatusDetails{Causes: []metav1.StatusCause{c}, RetryAfterSeconds: 1}
	}
	const text = "Too large resource version"
	for name, tt := range map[string]struct {
		s    metav1.Status
		want bool
	}{
		"by type of cause":    {metav1.Status{Reason: metav1.StatusReasonTimeout, Code: 504, Details: cause(metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})}, true},
		"by message of cause": {metav1.Status{Reason: metav1.StatusReasonTimeout, Code: 504, Details: cause(metav1.StatusCause{Message: text})}, true},
		"by message":          {metav1.Status{Reason: metav1.StatusReasonTimeout, Code: 504, Message: "Timeout: " + text + ": 9, current: 4"}, true},
		"another timeout":     {metav1.Status{Reason: metav1.StatusReasonTimeout, Code: 504, Message: "slow"}, false},
		"not a timeout":       {metav1.Status{Reason: metav1.StatusReasonBadRequest, Code: 400, Message: text}, false},
	} {
		if got := isTooLarge(tt.s); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
