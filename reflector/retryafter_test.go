package reflector

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An ERROR frame that asks for a day is asked again after a minute, and the state says when.
func TestRetryAfterIsBounded(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	busy := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 429, Details: &metav1.StatusDetails{RetryAfterSeconds: 86400}}}
	c := NewCore(Config{Paged: true})
	c.Step(now, 0, Input{Event: Start})
	next := c.Step(now, 0.5, Input{Event: End, Err: busy}).Next
	if next.Do != Wait || next.Until.Sub(now) < time.Minute || next.Until.Sub(now) > 66*time.Second {
		t.Errorf("%v until +%v, want a wait of a minute and up to a tenth more", next.Do, next.Until.Sub(now))
	}
	if s := c.State(); !s.RetryAt.Equal(next.Until) || s.Err == nil {
		t.Errorf("tries again at %v because of %v, want %v", s.RetryAt, s.Err, next.Until)
	}
	c.Step(next.Until, 0, Input{Event: Timer})
	if s := c.State(); !s.RetryAt.IsZero() {
		t.Errorf("it tries, and will again at %v", s.RetryAt)
	}
}
