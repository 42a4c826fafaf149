package child

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/option"
)

var (
	// ErrOwnerDeleted is the error if the owner is being deleted. A new child could outlive the
	// clean-up of the owner, or block it. [WhileDeleted] allows it.
	ErrOwnerDeleted = errors.New("the owner is being deleted")
	// ErrDeleted is the error if the child is being deleted and waits for its finalizers. Ensure
	// creates it again after it is gone.
	ErrDeleted = errors.New("the child is being deleted")
	// ErrReplaced is the error if the child was deleted after it was read. Somebody may have created
	// another object of the name. Nothing was written.
	ErrReplaced = errors.New("the child was deleted after it was read")
)

// invalid returns the error for an invalid argument of a call: "owner", "desired", "keep", or a field of one of them.
func invalid(field, problem string) error {
	return &option.Error{Of: "child", Field: field, Err: errors.New(problem)}
}

// TakenError is the error if the child exists and the owner does not control it. The child was not
// changed.
type TakenError struct {
	// Child is the kind and the key of the child.
	Child string
	// By is the controller of the child. Nil means that it has none: somebody may have created it for
	// another purpose. [Adopt] takes such objects over.
	By *metav1.OwnerReference
	// Earlier is true if the controller has the kind and name of our owner and another uid. Most
	// likely it is an earlier object, and the garbage collector will delete its children.
	Earlier bool
}

func (e *TakenError) Error() string {
	switch {
	case e.By == nil:
		return fmt.Sprintf("%s exists and is controlled by nobody: delete it, or adopt it", e.Child)
	case e.Earlier:
		return fmt.Sprintf("%s is controlled by an earlier %s %s, with uid %s, and will be deleted with it", e.Child, e.By.Kind, e.By.Name, e.By.UID)
	}
	return fmt.Sprintf("%s is controlled by %s %s, with uid %s", e.Child, e.By.Kind, e.By.Name, e.By.UID)
}

// IsTaken reports whether err is a [TakenError] for which a retry at once does not help: a reconciler reports it in the
// status, and returns a Result with RequeueAfter. No event comes when the other object goes, because its controller
// reference names no owner of ours. IsTaken is false for a child of an earlier owner of the same name, because the
// garbage collector deletes that.
func IsTaken(err error) bool {
	taken, ok := errors.AsType[*TakenError](err)
	return ok && !taken.Earlier
}
