//go:build unix

package leader_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/test/servertest"
)

// childEnv makes the test binary a candidate. It holds kubeconfig, namespace and identity.
const childEnv = "FLYBALL_LEADER_CANDIDATE"

// handoverOptions returns options with the shortest durations that work.
func handoverOptions(namespace, identity string) leader.Options {
	return leader.Options{
		Namespace: namespace, Name: "operator", Identity: identity,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
	}
}

// candidateMain is the main function of a candidate. It runs for the lease. While it leads it
// writes without a pause, until the fence stops it or a SIGTERM comes. It ignores the end of its
// ctx, so only the fence prevents a late write. It ends with its standard input.
func candidateMain(args string) error {
	kubeconfig, rest, _ := strings.Cut(args, "|")
	namespace, identity, _ := strings.Cut(rest, "|")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := client.Dial(ctx, client.ConfigOptions{Kubeconfig: kubeconfig}, client.Options{})
	if err != nil {
		return err
	}
	o := handoverOptions(namespace, identity)
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o.Hook = func(s leader.Leadership) {
		if s.Holder != "" {
			fmt.Println("candidate") // on standby; or it leads, if the others have lost the lease meanwhile
		}
	}
	e, err := leader.New(c, o)
	if err != nil {
		return err
	}
	for term := 1; ctx.Err() == nil; term++ {
		err := e.Run(ctx, func(lead context.Context) error {
			return writeAll(ctx, c.Fenced(e.Fence()), namespace, fmt.Sprintf("%s.%d", identity, term))
		})
		if _, lost := errors.AsType[*leader.LostError](err); err != nil && !lost {
			return err
		}
		fmt.Println("ended")
	}
	return nil
}

// writeAll writes until ctx ends or the fence refuses a write.
func writeAll(ctx context.Context, c client.Client, namespace, writer string) error {
	target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "counter"}}
	for n := 1; ctx.Err() == nil; n++ {
		data := map[string]any{"writer": writer, "n": strconv.Itoa(n)}
		write, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := client.Patch(write, c, target, client.MergePatch(map[string]any{"data": data}))
		cancel()
		if _, kept := errors.AsType[*client.FencedError](err); kept {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate is a candidate process.
type candidate struct {
	cmd   *exec.Cmd
	lines chan string
	stdin io.Closer
}

func startCandidate(t *testing.T, kubeconfig, namespace, identity string) *candidate {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+kubeconfig+"|"+namespace+"|"+identity)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &candidate{cmd: cmd, lines: make(chan string, 100), stdin: stdin}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			c.end(t, syscall.SIGKILL)
		}
	})
	return c
}

func (c *candidate) signal(t *testing.T, s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

// end ends the process and returns its exit error.
func (c *candidate) end(t *testing.T, s syscall.Signal) error {
	c.signal(t, s)
	for range c.lines {
	}
	c.stdin.Close()
	return c.cmd.Wait()
}

func (c *candidate) await(t *testing.T, line string) {
	t.Helper()
	timeout := time.After(5 * time.Minute)
	for {
		select {
		case l, ok := <-c.lines:
			if l == line {
				return
			}
			if !ok {
				t.Fatalf("a candidate has ended before it said %q", line)
			}
		case <-timeout:
			t.Fatalf("a candidate does not say %q", line)
		}
	}
}

// history records all writes in the order of the server.
type history struct {
	terms  []term
	writes int
	late   []string        // writes after a write of a later writer
	pauses []time.Duration // between two writes of one term
}

// term records the writes of one leader in one term.
type term struct {
	writer      string
	first, last time.Time // when they were observed
}

func (h *history) add(writer, count string, now time.Time) error {
	h.writes++
	i := slices.IndexFunc(h.terms, func(t term) bool { return t.writer == writer })
	switch {
	case i < 0:
		h.terms = append(h.terms, term{writer: writer, first: now, last: now})
		if count != "1" {
			return fmt.Errorf("the first write of %s that was seen is its number %s", writer, count)
		}
	case i == len(h.terms)-1:
		h.pauses = append(h.pauses, now.Sub(h.terms[i].last))
		h.terms[i].last = now
	default:
		h.late = append(h.late, fmt.Sprintf("write %s of %s after the first one of %s", count, writer, h.terms[len(h.terms)-1].writer))
	}
	return nil
}

// handover is a test with two candidates and the history of their writes.
type handover struct {
	t         *testing.T
	ctx       context.Context
	c         *client.Live
	namespace string
	kube      string
	all       map[string]*candidate
	started   int
	history   history
	written   chan *corev1.ConfigMap
}

func (h *handover) start() {
	h.started++
	id := "p" + strconv.Itoa(h.started)
	h.all[id] = startCandidate(h.t, h.kube, h.namespace, id)
	if h.started > 1 {
		h.all[id].await(h.t, "candidate")
	}
}

// watch observes the counter until the test ends.
func (h *handover) watch(version string) {
	for {
		w, err := client.Watch[corev1.ConfigMap](h.ctx, h.c, client.InNamespace(h.namespace), client.FieldSelector("metadata.name=counter"), client.AtVersion(version))
		if err != nil {
			if h.ctx.Err() == nil {
				h.t.Error(err)
			}
			return
		}
		for ev, err := range w.Events() {
			if err != nil {
				if _, closed := errors.AsType[*client.WatchClosedError](err); !closed && h.ctx.Err() == nil {
					h.t.Error(err)
				}
				break
			}
			version = ev.ResourceVersion
			if ev.Object == nil {
				continue
			}
			select {
			case h.written <- ev.Object:
			case <-h.ctx.Done():
				return
			}
		}
		if h.ctx.Err() != nil {
			return
		}
	}
}

// see records writes until done reports true or the time is over, and reports which.
func (h *handover) see(within time.Duration, done func() bool) bool {
	h.t.Helper()
	timeout := time.After(within)
	for !done() {
		select {
		case cm := <-h.written:
			if err := h.history.add(cm.Data["writer"], cm.Data["n"], time.Now()); err != nil {
				h.t.Fatal(err)
			}
		case <-timeout:
			return false
		}
	}
	return true
}

// next returns a function that reports the first write of a new term.
func (h *handover) next() func() bool {
	terms := len(h.history.terms)
	return func() bool { return len(h.history.terms) > terms }
}

// leader returns the candidate that wrote last.
func (h *handover) leader() (string, *candidate) {
	id, _, _ := strings.Cut(h.history.terms[len(h.history.terms)-1].writer, ".")
	return id, h.all[id]
}

// long is the timeout of a wait that is not to end by time.
const long = 5 * time.Minute

// force makes another process the leader. It returns the gap between the last write of the old one
// and the first of the new one.
func (h *handover) force(how syscall.Signal) time.Duration {
	enough := h.history.writes + 20 + rand.IntN(200)
	h.see(long, func() bool { return h.history.writes > enough })
	id, old := h.leader()
	next := h.next()
	switch how {
	case syscall.SIGSTOP:
		for old.signal(h.t, how); ; old.signal(h.t, how) {
			// The process wakes up in time, just too late, or long after.
			taken := h.see(1900*time.Millisecond+rand.N(2500*time.Millisecond), next)
			old.signal(h.t, syscall.SIGCONT)
			if taken {
				break
			}
			if h.see(200*time.Millisecond, next) {
				break
			}
			writes := h.history.writes
			if h.see(long, func() bool { return next() || h.history.writes > writes }) && next() {
				break
			}
		}
		old.await(h.t, "ended")
	default:
		old.signal(h.t, how)
		if !h.see(long, next) {
			h.t.Fatal("there is no new leader")
		}
		delete(h.all, id)
		err := old.end(h.t, syscall.SIGCONT)
		if how == syscall.SIGTERM && err != nil {
			h.t.Errorf("after a SIGTERM: %v", err)
		}
		h.start()
	}
	n := len(h.history.terms)
	return h.history.terms[n-1].first.Sub(h.history.terms[n-2].last)
}

// Processes that end, are killed, or are stopped and continued hand the lease over. None writes
// after the next leader has written, by the order of the server.
func TestNoCandidateWritesAfterItsSuccessor(t *testing.T) {
	tier.Audit(t, "starts programs and stops them for a while of the real clock")
	rounds := 6
	if os.Getenv("FLYBALL_LONG") != "" {
		rounds = 200
	}
	p := servertest.Shared(t)
	h := &handover{
		t: t, ctx: t.Context(), c: dial(t), namespace: servertest.Namespace(t, p), kube: p.KubeconfigPath(),
		all: map[string]*candidate{}, written: make(chan *corev1.ConfigMap),
	}
	ctx, cancel := context.WithCancel(t.Context())
	h.ctx = ctx
	counter, err := client.Create(ctx, h.c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "counter"}})
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		h.watch(counter.ResourceVersion)
	}()
	defer func() {
		cancel()
		<-watched
	}()
	h.start()
	if !h.see(long, h.next()) {
		t.Fatal("there is no first leader")
	}
	h.start()
	gaps := map[syscall.Signal][]time.Duration{}
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSTOP}
	for i := range rounds {
		how := signals[i%len(signals)]
		gap := h.force(how)
		t.Logf("%d: %v: %v", i, how, gap)
		gaps[how] = append(gaps[how], gap)
	}
	writes := h.history.writes
	h.see(long, func() bool { return h.history.writes > writes+20 })
	for _, how := range signals {
		g := gaps[how]
		slices.Sort(g)
		t.Logf("%v: %d hand-overs, gap p50 %v, p99 %v, max %v", how, len(g), at(g, 50), at(g, 99), at(g, 100))
	}
	slices.Sort(h.history.pauses)
	t.Logf("between two writes of one term: p50 %v, p99 %v, max %v", at(h.history.pauses, 50), at(h.history.pauses, 99), at(h.history.pauses, 100))
	t.Logf("%d writes in %d terms, %d after the loss of the lease", h.history.writes, len(h.history.terms), len(h.history.late))
	for _, late := range h.history.late {
		t.Error(late)
	}
	lease, err := client.Get[coordinationv1.Lease](ctx, h.c, object.Key{Namespace: h.namespace, Name: "operator"})
	if err != nil || int(*lease.Spec.LeaseTransitions) < rounds {
		t.Errorf("the Lease counts %v transitions (%v)", lease.Spec.LeaseTransitions, err)
	}
}

// at returns a percentile.
func at(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := (len(sorted)*percent + 99) / 100
	return sorted[min(max(i-1, 0), len(sorted)-1)].Round(time.Millisecond)
}
