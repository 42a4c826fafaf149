package client

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SchemaError is the error for an apply that does not fit the schema of its kind. It has a field that is not
// in the schema, two elements of a list with one key, or a value of another type. It is also the error if the
// managed fields of the object were written in another API version, whose fields this version does not
// have. Nothing was changed, and a retry does not help. API servers answer this with code 500.
type SchemaError struct{ RequestError }

// typedProblems begin the messages of API servers that compare an object with the schema. They compute it
// from the object alone: neither storage nor a webhook is in it.
var typedProblems = []string{"failed to create typed patch object (", "failed to create typed live object ("}

// undeclared ends the messages about managed fields of another version.
const undeclared = ": field not declared in schema"

// breaksSchema reports whether a Status is about the schema. Servers send it as a failure of their own, with
// code 500 and neither a reason nor details; so they send failures of the storage. Only the message tells
// the two apart. A message that is not known stays an [InternalError].
func breaksSchema(s metav1.Status) bool {
	if s.Code != http.StatusInternalServerError || s.Reason != metav1.StatusReasonUnknown || s.Details != nil {
		return false
	}
	for _, begin := range typedProblems {
		if strings.HasPrefix(s.Message, begin) {
			return true
		}
	}
	return strings.HasSuffix(s.Message, undeclared)
}
