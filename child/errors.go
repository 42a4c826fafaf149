package child

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrOwnerDeleted is the error if the owner is being deleted. A new child could outlive the
	// clean-up of the owner, or block it.
	ErrOwnerDeleted = errors.New("the owner is being deleted")
	// ErrDeleted is the error if the child is being deleted and waits for its finalizers. Ensure
	// creates it again after it is gone.
	ErrDeleted = errors.New("the child is being deleted")
	// ErrReplaced is the error if the child was deleted after it was read. Somebody may have created
	// another object of the name. Nothing was written.
	ErrReplaced = errors.New("the child was deleted after it was read")
)

// InvalidError is the error for an invalid argument of a call. Nothing was sent.
type InvalidError struct {
	// Field is "owner", "desired", "keep", or a field of one of them.
	Field   string
	Problem string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("child: %s %s", e.Field, e.Problem) }

// OwnedError is the error if another object controls the child. The child was not changed.
type OwnedError struct {
	// Child is the kind and the key of the child.
	Child string
	// By is the controller of the child.
	By metav1.OwnerReference
	// Earlier is true if the controller has the kind and name of our owner and another uid. Most
	// likely it is an earlier object, and the garbage collector will delete its children.
	Earlier bool
}

func (e *OwnedError) Error() string {
	if e.Earlier {
		return fmt.Sprintf("%s is controlled by an earlier %s %s, with uid %s, and will be deleted with it", e.Child, e.By.Kind, e.By.Name, e.By.UID)
	}
	return fmt.Sprintf("%s is controlled by %s %s, with uid %s", e.Child, e.By.Kind, e.By.Name, e.By.UID)
}

// UnownedError is the error if the child exists without a controller: somebody may have created it for
// another purpose. The child was not changed. [Adopt] takes such objects over.
type UnownedError struct {
	// Child is the kind and the key of the child.
	Child string
}

func (e *UnownedError) Error() string {
	return fmt.Sprintf("%s exists and is controlled by nobody: delete it, or adopt it", e.Child)
}

// IsTaken reports whether err says that somebody else's object has the name of the child. That object has
// no controller, or another one than the owner. A retry does not help: a reconciler reports it in the
// status and waits for a change. IsTaken is false for a child of an earlier owner of the same name,
// because the garbage collector deletes that.
func IsTaken(err error) bool {
	if _, unowned := errors.AsType[*UnownedError](err); unowned {
		return true
	}
	owned, ok := errors.AsType[*OwnedError](err)
	return ok && !owned.Earlier
}
