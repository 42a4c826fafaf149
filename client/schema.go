package client

import (
	"net/http"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SchemaError is the error for an apply that does not fit the schema of its kind. It has a field that is not
// in the schema, two elements of a list with one key, or a value of another type. Nothing was changed, and a retry
// does not help. API servers answer this with code 500.
type SchemaError struct {
	RequestError
	// OtherVersion reports that the apply fits the schema of its own API version. The managed fields of the object
	// are in another API version, whose schema does not have a field of the apply. [MoveFields] mends it.
	OtherVersion bool
}

// typedProblems begin the messages of API servers that compare an object with the schema. They compute it
// from the object alone: neither storage nor a webhook is in it.
var typedProblems = []string{"failed to create typed patch object (", "failed to create typed live object ("}

// undeclared ends the messages about a field that is not in a schema.
const undeclared = ": field not declared in schema"

// otherVersion matches the messages of API servers that convert an object to the API version of a field manager: the
// converted object does not fit the schema of that version. The message then has the path of a field. That of a
// conversion that failed has none.
var otherVersion = regexp.MustCompile(`^(failed to prune fields: (failed add back (owned|dangling) items: )?)?` +
	`(failed to convert (merged|pruned|old|new) object( to last applied version| at version \S+)?: )?(errors:\n  )?\.`)

// breaksSchema reports whether a Status is about the schema, and whether about that of another version. Servers send
// it as a failure of their own, with code 500 and neither a reason nor details; so they send failures of the storage.
// Only the message tells the two apart. A message that is not known stays an [InternalError].
func breaksSchema(s metav1.Status) (breaks, ofOther bool) {
	if s.Code != http.StatusInternalServerError || s.Reason != metav1.StatusReasonUnknown || s.Details != nil {
		return false, false
	}
	for _, begin := range typedProblems {
		if strings.HasPrefix(s.Message, begin) {
			return true, false
		}
	}
	other := otherVersion.MatchString(s.Message) || strings.HasSuffix(s.Message, undeclared)
	return other, other
}
