package kubelet

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/backoff"
)

// Annotations of a Pod, or of the template that makes it, script its life. Durations have the form of Go, such as
// "1m30s". Times of a Pod are whole seconds, so a step may come up to a second early.
const (
	// StartAfter is the time until the containers run.
	StartAfter = "kubelet.flyball.dev/start-after"
	// ReadyAfter is the time from then until they are ready; "never" if they never are.
	ReadyAfter = "kubelet.flyball.dev/ready-after"
	// Image is "missing" if images cannot be pulled.
	Image = "kubelet.flyball.dev/image"
	// ExitAfter is the time that they run. Without it those of a Job's Pod end at once, and others never.
	ExitAfter = "kubelet.flyball.dev/exit-after"
	// ExitCode is the exit code of the containers. The default is zero.
	ExitCode = "kubelet.flyball.dev/exit-code"
	// StopAfter is the time that they take to stop when the Pod is deleted, at most its grace period.
	StopAfter = "kubelet.flyball.dev/stop-after"
)

const prefix = "kubelet.flyball.dev/"

// never is a time that does not come.
const never = time.Duration(-1)

// Script is the script of a Pod's life, as its annotations give it.
type Script struct {
	Start, Stop time.Duration
	// Ready and Exit count from the start of the containers. Both may be never.
	Ready, Exit time.Duration
	Code        int32
	Missing     bool
	// plain says that the Pod has none of the annotations.
	plain bool
}

// scriptOf reads the annotations of a Pod. It ignores values that are not valid.
func scriptOf(p *corev1.Pod) Script {
	duration := func(name string, or time.Duration) time.Duration {
		text := p.Annotations[name]
		if text == "never" {
			return never
		}
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return d
		}
		return or
	}
	s := Script{Start: max(0, duration(StartAfter, 0)), Stop: max(0, duration(StopAfter, 0)), Ready: duration(ReadyAfter, 0), Exit: never, Missing: p.Annotations[Image] == "missing", plain: true}
	for _, o := range p.OwnerReferences {
		if o.Kind == "Job" {
			s.Exit = 0
		}
	}
	s.Exit = duration(ExitAfter, s.Exit)
	if n, err := strconv.ParseInt(p.Annotations[ExitCode], 10, 32); err == nil {
		s.Code = int32(n)
	}
	for name := range p.Annotations {
		s.plain = s.plain && !strings.HasPrefix(name, prefix)
	}
	return s
}

// crashDelay returns how long a container that has ended waits until it is started again.
func crashDelay(restarts int32) time.Duration {
	return backoff.Policy{Base: 10 * time.Second, Max: 5 * time.Minute}.Delay(int(restarts), 0)
}
