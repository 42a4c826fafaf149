package leader

import (
	"math"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// record holds the fields of a Lease that the election uses, in comparable form. Times are in
// microseconds, the precision of the API. A missing field is zero.
type record struct {
	holder            string
	seconds           int32
	acquired, renewed int64
	transitions       int32
}

func recordOf(l *coordinationv1.Lease) record {
	s := &l.Spec
	return record{
		holder: value(s.HolderIdentity), seconds: value(s.LeaseDurationSeconds),
		acquired: micros(s.AcquireTime), renewed: micros(s.RenewTime), transitions: value(s.LeaseTransitions),
	}
}

func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func micros(t *metav1.MicroTime) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

// put writes the record into a Lease and leaves all other fields unchanged.
func (r record) put(l *coordinationv1.Lease) {
	l.Spec.HolderIdentity = new(r.holder)
	l.Spec.LeaseDurationSeconds = new(r.seconds)
	l.Spec.AcquireTime = new(metav1.NewMicroTime(time.UnixMicro(r.acquired)))
	l.Spec.RenewTime = new(metav1.NewMicroTime(time.UnixMicro(r.renewed)))
	l.Spec.LeaseTransitions = new(r.transitions)
}

// waitTime returns how long to wait for the holder after its last sign of life: the duration of the
// record, at least own and at most most. A holder does not know of a shorter duration that was
// edited into its Lease. A longer one would keep a dead holder for years.
func (r record) waitTime(own, most time.Duration) time.Duration {
	return min(max(time.Duration(r.seconds)*time.Second, own), most)
}

// oddFactor is how many times ours the lease duration of another holder may be. The default of
// MaxLeaseDuration is that multiple of our duration, and at least maxLeaseFloor.
const (
	oddFactor     = 10
	maxLeaseFloor = 5 * time.Minute
)

// problem describes a suspicious Lease of another holder. Empty means nothing.
func (r record) problem(self string, own, most time.Duration) string {
	switch {
	case r.holder == "":
		return ""
	case r.seconds <= 0:
		return "leaseDurationSeconds is missing or not positive; used instead: " + own.String()
	case time.Duration(r.seconds)*time.Second > most:
		return "leaseDurationSeconds is " + strconv.Itoa(int(r.seconds)) + ", above the maximum; used instead: " + most.String()
	case time.Duration(r.seconds)*time.Second/oddFactor > own:
		return "leaseDurationSeconds is " + strconv.Itoa(int(r.seconds)) + ", ours is " + own.String()
	case r.renewed == 0:
		return "renewTime is missing"
	case r.holder == self:
		return "it names our own identity, but an earlier run or another process wrote it"
	}
	return ""
}

// released reports whether the holder itself released the lease. A release stamps both times anew,
// here and in client-go's election. If only the holder field was removed, somebody else did it, and
// the holder may not know yet.
func (r record) released() bool {
	return r.holder == "" && r.renewed != 0 && r.renewed == r.acquired
}

// claim returns the record with which self replaces r at a time. If mine, it is a renewal of r,
// otherwise a new term.
func (r record) claim(self string, lease time.Duration, wall time.Time, mine bool) record {
	n := record{
		holder: self, renewed: after(wall, r.renewed),
		seconds:     int32(min((lease+time.Second-1)/time.Second, math.MaxInt32)),
		acquired:    r.acquired,
		transitions: r.transitions,
	}
	if mine {
		return n
	}
	n.acquired = n.renewed
	if r.holder != self && n.transitions < math.MaxInt32 {
		n.transitions = max(n.transitions, 0) + 1
	}
	return n
}

// release returns the record that releases r.
func (r record) release(wall time.Time) record {
	stamp := after(wall, r.renewed)
	return record{seconds: 1, acquired: stamp, renewed: stamp, transitions: r.transitions}
}

// after returns wall in microseconds, but never before: two consecutive writes differ.
func after(wall time.Time, before int64) int64 {
	us := wall.UnixMicro()
	if us == before {
		us++
	}
	return us
}
