package leader

import (
	"fmt"
	"strings"

	"github.com/flyball-io/flyball/object"
)

// Reason is why a lease was lost.
type Reason string

// The reasons of a [LostError].
const (
	// Expired: it could not be renewed within the RenewDeadline. Err has the last failure.
	Expired Reason = "not renewed in time"
	// Taken: the Lease names another holder.
	Taken Reason = "taken by another"
	// Edited: the Lease names no holder, or this identity but not as it was written here: it was
	// edited by hand, or another process has the same identity.
	Edited Reason = "edited"
	// Deleted: there is no Lease any more.
	Deleted Reason = "deleted"
)

// LostError says that this process held the lease and may hold it no longer. It is the cause with
// which the ctx of the work ends, and the error of [Elector.Run].
type LostError struct {
	// Lease that was lost, and the Identity that had it.
	Lease    object.Key
	Identity string
	Reason   Reason
	// Holder that the Lease names now, as far as is known.
	Holder string
	// Err is the last failure to renew the lease, if that is the reason.
	Err error
}

func (e *LostError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lost the lease %s: ", e.Lease)
	switch e.Reason {
	case Taken:
		fmt.Fprintf(&b, "taken by %q", e.Holder)
	case Edited:
		if e.Holder == "" {
			b.WriteString("somebody else has released it")
		} else {
			fmt.Fprintf(&b, "edited by hand, or by another process with the identity %q", e.Holder)
		}
	default:
		b.WriteString(string(e.Reason))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the last failure to renew the lease, if that is the reason.
func (e *LostError) Unwrap() error { return e.Err }

// NotLeadingError is why [Elector.Fence] keeps a write back.
type NotLeadingError struct {
	// Lease and Identity of the elector.
	Lease    object.Key
	Identity string
	// Holder of the lease, as far as is known.
	Holder string
	// Lost is why the lease was lost; nil: this process has not had it since Run began, or has
	// only just come to the end of its time.
	Lost *LostError
}

func (e *NotLeadingError) Error() string {
	s := fmt.Sprintf("%q may not hold the lease %s", e.Identity, e.Lease)
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

// OddLeaseError is the Err of a [State] while another holds a Lease that does not say what it
// should. It is waited for all the same, as long as it asks for, but not less than our own
// LeaseDuration and not more than MaxLeaseDuration.
type OddLeaseError struct {
	Lease   object.Key
	Holder  string
	Problem string
}

func (e *OddLeaseError) Error() string {
	return fmt.Sprintf("the lease %s, held by %q, is odd: %s", e.Lease, e.Holder, e.Problem)
}
