package leader

import (
	"fmt"

	"github.com/flyball-io/flyball/object"
)

// LostReason says why a lease was lost.
type LostReason string

// The reasons of a [LostError].
const (
	// Expired: the lease was not renewed within the RenewDeadline. Err is the last failure.
	Expired LostReason = "not renewed in time"
	// Taken: the Lease names another holder.
	Taken LostReason = "taken by another"
	// Edited: the Lease names no holder, or it names this identity but this elector did not write
	// it. It was edited by hand, or another process has the same identity.
	Edited LostReason = "edited"
	// Deleted: the Lease does not exist any more.
	Deleted LostReason = "deleted"
)

// LostError says that this process held the lease and may not hold it now. It is the cause with
// which the ctx of the work ends, and the error of [Elector.Run].
type LostError struct {
	// Lease that was lost, and the Identity that held it.
	Lease    object.Key
	Identity string
	Reason   LostReason
	// Holder that the Lease names now, if known.
	Holder string
	// Err is the last failure to renew the lease, for the reason Expired.
	Err error
}

func (e *LostError) Error() string {
	why := string(e.Reason)
	switch {
	case e.Reason == Taken:
		why = fmt.Sprintf("taken by %q", e.Holder)
	case e.Reason == Edited && e.Holder == "":
		why = "another client has released it"
	case e.Reason == Edited:
		why = fmt.Sprintf("edited by hand, or by another process with the identity %q", e.Holder)
	}
	if e.Err != nil {
		why += ": " + e.Err.Error()
	}
	return fmt.Sprintf("lost the lease %s: %s", e.Lease, why)
}

// Unwrap returns the last failure to renew the lease, for the reason Expired.
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
	s := fmt.Sprintf("%q does not surely hold the lease %s", e.Identity, e.Lease)
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
