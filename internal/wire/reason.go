package wire

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReasonOf is the reason of a Status for an HTTP status code.
func ReasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusGone:
		return metav1.StatusReasonGone
	case http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge
	case http.StatusBadGateway:
		return metav1.StatusReasonServiceUnavailable
	case http.StatusRequestTimeout:
		return metav1.StatusReasonTimeout
	}
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false).ErrStatus.Reason
}
