package client

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewNotFound makes a [NotFoundError] for a reader other than the server, such as a cache. Its Status is
// like that of the server.
func NewNotFound(call Call) *NotFoundError {
	r := call.Resource.GroupResource()
	return &NotFoundError{RequestError{Call: call, status: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotFound,
		Reason:  metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("%s %q not found", r.String(), call.Key.Name),
		Details: &metav1.StatusDetails{Group: r.Group, Kind: r.Resource, Name: call.Key.Name},
	}}}
}
