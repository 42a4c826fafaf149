package leader

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
)

// Options of an [Elector]. Only Name is required in a Pod. [New] reads them once.
type Options struct {
	// Namespace of the Lease. Empty means the namespace of the Pod. Outside of a Pod it is
	// required.
	Namespace string
	// Name of the Lease, the same for all candidates. Required.
	Name string
	// Identity of this process. Empty means the host name, "_" and a UUID. Two processes that live
	// at the same time should not share one: they do no harm, but the Lease does not tell them
	// apart. A process that restarts under the same identity waits for its own old lease as for any
	// other's.
	Identity string
	// LeaseDuration is how long other candidates wait, after the last sign of life of the leader
	// that they saw, before they take the lease. At least one second; the Lease holds it in
	// seconds, rounded up. Zero means 15 s.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader is sure of the lease after a renewal. Then the ctx of
	// its work ends and its writes are refused. Writes already sent can settle until LeaseDuration
	// is over. It must be less than LeaseDuration. Zero means two thirds of LeaseDuration, 10 s by
	// default.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two renewals, and between two attempts of a failed request.
	// Up to a fifth of it is added at random; the sum must be less than RenewDeadline. Zero means a
	// fifth of RenewDeadline, 2 s by default.
	RetryPeriod time.Duration
	// MaxLeaseDuration bounds the duration that another leader's Lease may ask for. A Lease whose
	// leaseDurationSeconds was edited to 68 years is taken over after MaxLeaseDuration. It must not
	// be less than LeaseDuration, nor than the LeaseDuration of any other candidate. Zero means ten
	// times LeaseDuration, at least five minutes.
	MaxLeaseDuration time.Duration
	// AbsentWait is how long a process waits before it takes a Lease that is missing, or that has
	// lost its holder, if it has seen no holder since Run began. Such a Lease may have been deleted
	// while its holder leads. The holder notices that by its watch or, if the watch is silent, with
	// its next renewal. Processes that have seen the holder wait for the end of its term in any
	// case.
	//
	// Zero or negative means no wait: the first process ever leads at once. LeaseDuration is safe.
	AbsentWait time.Duration
	// KeepOnStop leaves the Lease as it is when the work has ended; other candidates then wait for
	// its end. False releases it, and a standby takes it at once.
	KeepOnStop bool
	// Logger receives who leads, and once for each failure what prevents reads or writes of the
	// Lease. A log that blocks delays the election by one second, once. nil means slog.Default().
	Logger *slog.Logger
	// Hook is called when Leading or Holder of the Leadership change, and when the lease is lost; Err is
	// then the [LostError]. Use it for events and metrics, and to stop work at once. It runs on the
	// goroutine of the election, before the ctx of the work ends. It must not block, and so must
	// not log. nil means none.
	Hook func(Leadership)
}

// podNamespace is the file in which the kubelet gives a Pod its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// key returns the key of the Lease.
func (o *Options) key() object.Key { return object.Key{Namespace: o.Namespace, Name: o.Name} }

// validated returns the options with defaults. The error names the field.
func (o Options) validated() (Options, error) {
	bad := func(field, format string, args ...any) (Options, error) {
		return o, &option.Error{Of: "leader.Options", Field: field, Err: fmt.Errorf(format, args...)}
	}
	if o.Namespace == "" {
		data, err := os.ReadFile(podNamespace)
		if err != nil {
			return bad("Namespace", "is empty, and the namespace of the Pod is unknown: %v", err)
		}
		o.Namespace = strings.TrimSpace(string(data))
	}
	if p := validation.IsDNS1123Label(o.Namespace); len(p) > 0 {
		return bad("Namespace", "%q: %s", o.Namespace, p[0])
	}
	if o.Name == "" {
		return bad("Name", "is empty")
	}
	if p := validation.IsDNS1123Subdomain(o.Name); len(p) > 0 {
		return bad("Name", "%q: %s", o.Name, p[0])
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return bad("Identity", "is empty, and the host has no name: %w", err)
		}
		o.Identity = host + "_" + string(uuid.NewUUID())
	}
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, o.LeaseDuration*2/3)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, o.RenewDeadline/5)
	switch {
	case o.LeaseDuration < time.Second:
		return bad("LeaseDuration", "%v is less than a second", o.LeaseDuration)
	case o.RenewDeadline <= 0:
		return bad("RenewDeadline", "%v is negative", o.RenewDeadline)
	case o.RenewDeadline >= o.LeaseDuration:
		return bad("RenewDeadline", "%v is not less than the LeaseDuration, %v", o.RenewDeadline, o.LeaseDuration)
	case o.RetryPeriod <= 0:
		return bad("RetryPeriod", "%v is negative", o.RetryPeriod)
	case float64(o.RetryPeriod)*(1+maxJitter) >= float64(o.RenewDeadline):
		return bad("RetryPeriod", "%v plus a fifth is not less than the RenewDeadline, %v", o.RetryPeriod, o.RenewDeadline)
	case o.MaxLeaseDuration != 0 && o.MaxLeaseDuration < o.LeaseDuration:
		return bad("MaxLeaseDuration", "%v is less than the LeaseDuration, %v", o.MaxLeaseDuration, o.LeaseDuration)
	}
	own := o.LeaseDuration
	o.MaxLeaseDuration = cmp.Or(o.MaxLeaseDuration, max(own, maxLeaseFloor, oddFactor*min(own, math.MaxInt64/oddFactor)))
	o.AbsentWait = max(o.AbsentWait, 0)
	o.Logger = logguard.Logger(o.Logger).With("lease", o.key().String(), "identity", o.Identity)
	return o, nil
}
