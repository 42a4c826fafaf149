package objects

import (
	"errors"
	"fmt"
	"io"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type answered struct{ reason metav1.StatusReason }

func (a *answered) Error() string         { return string(a.reason) }
func (a *answered) Status() metav1.Status { return metav1.Status{Reason: a.reason} }

// Every error with a Status has both forms, however it is wrapped. One without is left alone.
func TestErrorsWithAStatusHaveBothForms(t *testing.T) {
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonExpired, metav1.StatusReasonGone, metav1.StatusReasonNotFound} {
		is := &answered{reason}
		for _, err := range []error{is, fmt.Errorf("list: %w", is), errors.Join(io.EOF, is)} {
			got := StatusError(err)
			status, ok := errors.AsType[*apierrors.StatusError](got)
			if !ok || status.ErrStatus.Reason != reason || apierrors.ReasonForError(got) != reason || !errors.Is(got, is) {
				t.Errorf("%v: %#v", err, got)
			}
			if StatusError(got) != got {
				t.Errorf("%v: translated twice", err)
			}
		}
	}
	for _, err := range []error{nil, io.EOF, apierrors.NewConflict(metav1.SchemeGroupVersion.WithResource("x").GroupResource(), "n", nil)} {
		if got := StatusError(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
