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
	c := newCore(Options{Paged: true})
	c.Step(now, 0, input{event: started})
	next := c.Step(now, 0.5, input{event: ended, err: busy}).next
	if next.do != doWait || next.until.Sub(now) < time.Minute || next.until.Sub(now) > 66*time.Second {
		t.Errorf("%v until +%v, want a wait of a minute and up to a tenth more", next.do, next.until.Sub(now))
	}
	if s := c.State(); !s.RetryAt.Equal(next.until) || s.Err == nil {
		t.Errorf("tries again at %v because of %v, want %v", s.RetryAt, s.Err, next.until)
	}
	c.Step(next.until, 0, input{event: timedOut})
	if s := c.State(); !s.RetryAt.IsZero() {
		t.Errorf("it tries, and will again at %v", s.RetryAt)
	}
}
