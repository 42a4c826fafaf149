package leader

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
)

// Options of an [Elector]. The zero value works in a Pod, but for the Name. They are read by [New]
// only.
type Options struct {
	// Namespace of the Lease. Empty: that of the Pod; outside of one it is required.
	Namespace string
	// Name of the Lease: the same for all processes of which one is to lead. Required.
	Name string
	// Identity of this process. Empty: the host name, "_" and a UUID. No two processes that live
	// at the same time should have the same: they do no harm, but the Lease does not tell them
	// apart. A process that comes back under an identity waits for its own old lease as for any
	// other's.
	Identity string
	// LeaseDuration is how long the others wait, after the last sign of life of the leader that
	// they saw, until they take its place. At least a second; the Lease names it in seconds,
	// rounded up. Zero: 15 s.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader is sure of the lease after a renewal. Then the ctx of
	// its work ends and its writes are refused, so that what has been sent can settle until the
	// LeaseDuration is over. Less than that. Zero: two thirds of it, 10 s.
	RenewDeadline time.Duration
	// RetryPeriod is how often the leader renews, and how often a request that failed is made
	// again; up to a fifth of it is added at random. With that it is less than RenewDeadline.
	// Zero: a fifth of it, 2 s.
	RetryPeriod time.Duration
	// MaxLeaseDuration is the most that is believed of how long another leader asks to be waited
	// for: a Lease whose leaseDurationSeconds was edited to 68 years is taken over after that. Not
	// less than LeaseDuration, nor than that of any other process that runs for the lease. Zero:
	// ten times LeaseDuration, and five minutes at least.
	MaxLeaseDuration time.Duration
	// AbsentWait is how long a process waits that finds no Lease, or one whose holder was taken out,
	// and has seen no holder since Run began, until it takes the lease. It may have been deleted
	// while its holder leads, who notices that by its watch or, if that is silent, with its next
	// renewal; processes that have seen the holder wait for the end of its time in any case. Zero or
	// negative: not at all, so that the first process ever leads at once. LeaseDuration is safe.
	AbsentWait time.Duration
	// KeepOnStop leaves the Lease as it is when the work has ended: the others then wait for its
	// end. False: it is released, and a standby takes it at once.
	KeepOnStop bool
	// Logger is told who leads, and what keeps the lease from being read or written, once for each
	// trouble. A log that takes nothing holds the election up for a second, and then no more. nil:
	// slog.Default().
	Logger *slog.Logger
	// Hook is called when Leading or Holder of the State change, or the lease is lost (Err is then
	// the [LostError]); for events and metrics, and for those who must stop at once. It runs on
	// the goroutine of the election, before the ctx of the work ends, and must not block: nor must
	// it log. nil:
	// none.
	Hook func(State)
}

// podNamespace is where the kubelet tells a Pod its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// config checks the options and fills in what is missing.
func (o Options) config() (Config, error) {
	none := Config{}
	bad := func(field, format string, args ...any) (Config, error) {
		return none, &option.Error{Of: "leader.Options", Field: field, Err: fmt.Errorf(format, args...)}
	}
	if o.Namespace == "" {
		data, err := os.ReadFile(podNamespace)
		if err != nil {
			return bad("Namespace", "is empty, and this is no Pod: %w", err)
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
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 15 * time.Second
	}
	if o.RenewDeadline == 0 {
		o.RenewDeadline = o.LeaseDuration * 2 / 3
	}
	if o.RetryPeriod == 0 {
		o.RetryPeriod = o.RenewDeadline / 5
	}
	switch {
	case o.LeaseDuration < time.Second:
		return bad("LeaseDuration", "%v is less than a second", o.LeaseDuration)
	case o.RenewDeadline <= 0:
		return bad("RenewDeadline", "%v is negative", o.RenewDeadline)
	case o.RenewDeadline >= o.LeaseDuration:
		return bad("RenewDeadline", "%v is not less than the LeaseDuration, %v", o.RenewDeadline, o.LeaseDuration)
	case o.RetryPeriod <= 0:
		return bad("RetryPeriod", "%v is negative", o.RetryPeriod)
	case float64(o.RetryPeriod)*(1+jitter) >= float64(o.RenewDeadline):
		return bad("RetryPeriod", "%v, and a fifth more, is not less than the RenewDeadline, %v", o.RetryPeriod, o.RenewDeadline)
	case o.MaxLeaseDuration != 0 && o.MaxLeaseDuration < o.LeaseDuration:
		return bad("MaxLeaseDuration", "%v is less than the LeaseDuration, %v", o.MaxLeaseDuration, o.LeaseDuration)
	}
	return Config{
		Lease:    object.Key{Namespace: o.Namespace, Name: o.Name},
		Identity: o.Identity, LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline,
		RetryPeriod: o.RetryPeriod, MaxLeaseDuration: o.MaxLeaseDuration, AbsentWait: max(o.AbsentWait, 0), KeepOnStop: o.KeepOnStop,
	}, nil
}
