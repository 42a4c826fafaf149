package leader

import (
	"fmt"

	"github.com/flyball-io/flyball/object"
)

// The reasons of a [LostError].
const (
	reasonExpired = "not renewed in time"
	reasonTaken   = "taken by another"
	reasonEdited  = "edited"
	reasonDeleted = "deleted"
)

// LostError says that this process held the lease and may not hold it now. It is the cause with
// which the ctx of the work ends, and the error of [Elector.Run].
type LostError struct {
	// Lease that was lost, and the Identity that held it.
	Lease    object.Key
	Identity string
	// Reason is one of
	//   - "not renewed in time": within the RenewDeadline. Err is the last failure.
	//   - "taken by another": the Lease names another holder.
	//   - "edited": the Lease names no holder, or it names this identity but this elector did not write it. It was
	//     edited by hand, or another process has the same identity.
	//   - "deleted": the Lease does not exist any more.
	Reason string
	// Holder that the Lease names now, if known.
	Holder string
	// Err is the last failure to renew the lease, for the reason "not renewed in time".
	Err error
}

func (e *LostError) Error() string {
	why := e.Reason
	switch {
	case e.Reason == reasonTaken:
		why = fmt.Sprintf("taken by %q", e.Holder)
	case e.Reason == reasonEdited && e.Holder == "":
		why = "another client has released it"
	case e.Reason == reasonEdited:
		why = fmt.Sprintf("edited by hand, or by another process with the identity %q", e.Holder)
	}
	if e.Err != nil {
		why += ": " + e.Err.Error()
	}
	return fmt.Sprintf("lost the lease %s: %s", e.Lease, why)
}

// Unwrap returns the last failure to renew the lease, for the reason "not renewed in time".
func (e *LostError) Unwrap() error { return e.Err }

// NotLeadingError is the error of a write that [Elector.Fence] refuses.
type NotLeadingError struct {
	// Lease and Identity of the elector.
	Lease    object.Key
	Identity string
	// Holder of the lease, if known.
	Holder string
	// Lost says why the lease was lost. nil means that this process has not held it since Run
	// began, or that its term has only just ended.
	Lost *LostError
}

func (e *NotLeadingError) Error() string {
	s := fmt.Sprintf("%q is not known to hold the lease %s", e.Identity, e.Lease)
	switch {
	case e.Lost != nil:
		return s + ": " + e.Lost.Error()
	case e.Holder == e.Identity:
		return s + " any more"
	case e.Holder != "":
		return s + fmt.Sprintf(": %q does", e.Holder)
	}
	return s
}

// Unwrap returns the [LostError], if there is one.
func (e *NotLeadingError) Unwrap() error {
	if e.Lost == nil {
		return nil
	}
	return e.Lost
}

// OddLeaseError is the Err of a [Leadership] while another process holds a Lease with invalid or
// implausible fields. That holder is waited for all the same: for the duration that its Lease says,
// at least our LeaseDuration and at most MaxLeaseDuration.
type OddLeaseError struct {
	Lease   object.Key
	Holder  string
	Problem string
}

func (e *OddLeaseError) Error() string {
	return fmt.Sprintf("the lease %s, held by %q, is odd: %s", e.Lease, e.Holder, e.Problem)
}
