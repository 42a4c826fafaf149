package child

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrOwnerDeleted says that the owner is being deleted: a child made now would outlive its
	// clean-up, or keep it from ending.
	ErrOwnerDeleted = errors.New("the owner is being deleted")
	// ErrDeleted says that the child is being deleted and waits for its finalizers. It can be made
	// again once it is gone.
	ErrDeleted = errors.New("the child is being deleted")
	// ErrReplaced says that the child was deleted after it was read, and perhaps made again by
	// somebody. Nothing was written.
	ErrReplaced = errors.New("the child was deleted after it was read")
)

// InvalidError says what a call was given that it cannot work with. Nothing was sent.
type InvalidError struct {
	// Field is "owner", "desired", or a field of one of them.
	Field   string
	Problem string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("child: %s %s", e.Field, e.Problem) }

// OwnedError says that another object controls the child. It was not touched.
type OwnedError struct {
	// Child by its kind and key.
	Child string
	// By is its controller.
	By metav1.OwnerReference
	// Earlier is true where the controller has the kind and name of our owner, but is another
	// object: most likely an earlier one, whose children the garbage collector has yet to delete.
	Earlier bool
}

func (e *OwnedError) Error() string {
	if e.Earlier {
		return fmt.Sprintf("%s is controlled by an earlier %s %s, with uid %s, and will be deleted with it", e.Child, e.By.Kind, e.By.Name, e.By.UID)
	}
	return fmt.Sprintf("%s is controlled by %s %s, with uid %s", e.Child, e.By.Kind, e.By.Name, e.By.UID)
}

// UnownedError says that the child exists and nobody controls it, so that somebody may have made it
// for another purpose. It was not touched; [Adopt] takes such objects over.
type UnownedError struct {
	// Child by its kind and key.
	Child string
}

func (e *UnownedError) Error() string {
	return fmt.Sprintf("%s exists and is controlled by nobody: delete it, or adopt it", e.Child)
}

// IsTaken reports whether err says that the name of a child is taken: an object of that name exists
// and is controlled by nobody, or by another object than the owner. Calling [Ensure] again does not
// help, so a reconciler says so in the status and waits for a change. It is false for what an earlier
// owner of the same name has left: the garbage collector deletes that.
func IsTaken(err error) bool {
	if _, unowned := errors.AsType[*UnownedError](err); unowned {
		return true
	}
	owned, ok := errors.AsType[*OwnedError](err)
	return ok && !owned.Earlier
}
