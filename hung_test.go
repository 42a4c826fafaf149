package flyball

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/run"
)

// leaseServer is an API server with a version and one Lease, which cannot be watched.
type leaseServer struct {
	*memory
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
}

func newLeaseServer(t *testing.T) *leaseServer {
	s := &leaseServer{}
	s.memory = serveInMemory(t, s)
	return s
}

// client has options of a client whose mapper knows Leases.
func (s *leaseServer) client() client.Options {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	return client.Options{Mapper: m}
}

// manager makes a manager that leads by the lease "shop".
func (s *leaseServer) manager(t *testing.T, o Options, wrap ...transport.WrapperFunc) *Manager {
	t.Helper()
	o.Name, o.Config, o.Client = "shop", s.config(), s.client()
	o.Config.Wrap(transport.Wrappers(wrap...))
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	// The clock of the lease never stands still: in an hour a slow machine loses nothing.
	o.Leader = &leader.Options{Namespace: "shop", Identity: "me", LeaseDuration: time.Hour, RetryPeriod: 10 * time.Second}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// take gives the lease to another holder.
func (s *leaseServer) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease.Spec.HolderIdentity = new("another")
	s.putLocked(s.lease.DeepCopy())
}

func (s *leaseServer) putLocked(l *coordinationv1.Lease) {
	s.version++
	s.lease = l
	l.ResourceVersion = strconv.Itoa(s.version)
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body coordinationv1.Lease
	switch {
	case r.URL.Path == "/version":
		answer(w, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
		return
	case !strings.Contains(r.URL.Path, "/leases") || r.URL.Query().Get("watch") != "":
		status(w, http.StatusForbidden, "no", metav1.StatusReasonForbidden)
		return
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/vnd.kubernetes.protobuf"):
		status(w, http.StatusUnsupportedMediaType, "JSON only", metav1.StatusReasonUnsupportedMediaType)
		return
	case r.Method != http.MethodGet && json.NewDecoder(r.Body).Decode(&body) != nil:
		status(w, http.StatusBadRequest, "no JSON", metav1.StatusReasonBadRequest)
		return
	case s.lease == nil && r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
		answer(w, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusNotFound,
			Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{Name: "shop", Kind: "leases"},
		})
		return
	case s.lease != nil && (r.Method == http.MethodPost || r.Method == http.MethodPut && body.ResourceVersion != s.lease.ResourceVersion):
		status(w, http.StatusConflict, "conflict", metav1.StatusReasonConflict)
		return
	case r.Method != http.MethodGet:
		s.putLocked(&body)
	}
	out := s.lease.DeepCopy()
	out.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	answer(w, out)
}

// A member that does not end holds Run up for the bound of its phase, whether ctx ends or the lease is lost. The error
// names the member, and the election if that still holds the lease.
func TestRunNamesWhatHangs(t *testing.T) {
	const grace, longest = 10 * time.Second, 12 * time.Second // of a retry, with what is added at random
	bounds := map[Phase]time.Duration{Lead: 25 * time.Second, Always: 25 * time.Second, Sync: 15 * time.Second, Serve: 20 * time.Second}
	for name, tc := range map[string]struct {
		phase Phase
		lost  bool
		names []string
	}{
		"in the phase Serve":  {Serve, false, []string{"work"}},
		"in the phase Sync":   {Sync, false, []string{"work"}},
		"in the phase Always": {Always, false, []string{"work"}},
		"in the phase Lead":   {Lead, false, []string{"work", "leader election"}},
		"without the lease":   {Lead, true, []string{"work", "leader election"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLeaseServer(t)
				m := s.manager(t, Options{GracePeriod: grace})
				let, leads := make(chan struct{}), make(chan struct{})
				if _, err := m.Add(tc.phase, "work", func(context.Context) error { <-let; return nil }); err != nil {
					t.Fatal(err)
				}
				if _, err := m.Add(Lead, "first", func(ctx context.Context) error { close(leads); <-ctx.Done(); return nil }); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				out := make(chan error, 1)
				go func() { out <- m.Run(ctx) }()
				<-leads
				began, most := time.Now(), bounds[tc.phase]
				if tc.lost {
					s.take()
					most += longest
				} else {
					cancel()
				}
				err := <-out
				if took := time.Since(began); took < bounds[tc.phase] || took > most {
					t.Errorf("returned after %v", took)
				}
				late, ok := errors.AsType[*StopTimeoutError](err)
				if !ok || late.Phase != tc.phase || late.After != bounds[tc.phase] || !slices.Equal(late.Names, tc.names) {
					t.Errorf("Run: %v", err)
				}
				if is[*leader.LostError](err) != tc.lost {
					t.Errorf("Run: %v", err)
				}
				if err := m.Run(t.Context()); !errors.Is(err, run.ErrRunning) || !strings.Contains(err.Error(), "work") {
					t.Errorf("beside what lives on: %v", err)
				}
				close(let)
				time.Sleep(time.Minute) // the lease is released
			})
		})
	}
}

// pipe is a log that blocks when it is full.
type pipe struct{ full, over chan struct{} }

func (p *pipe) Write(b []byte) (int, error) {
	select {
	case <-p.full:
		<-p.over
	default:
	}
	return len(b), nil
}

// hanging is a transport whose requests do not return from some moment on, whatever becomes of them.
type hanging struct {
	next http.RoundTripper
	on   *atomic.Bool
	stop chan struct{}
}

func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.on.Load() {
		<-h.stop
	}
	return h.next.RoundTrip(r)
}

// WrappedRoundTripper returns the transport inside.
func (h hanging) WrappedRoundTripper() http.RoundTripper { return h.next }

// A transport and a log that hang are named, too, whether ctx ends or the lease is lost. Run ends within the bound of
// Lead, and counts the lines that the log has not taken. A lease that cannot be renewed is lost in time.
func TestRunNamesTransportsAndLogsThatHang(t *testing.T) {
	const grace, longest, deadline = 10 * time.Second, 12 * time.Second, 40 * time.Minute // of a retry, and of a renewal
	for name, tc := range map[string]struct {
		want   error
		lost   bool
		losing time.Duration // until the lease is lost
	}{
		"transport":                        {want: ErrTransportHung},
		"log":                              {want: ErrLogBlocked},
		"transport, and the lease is lost": {ErrTransportHung, true, deadline},
		"log, and the lease is lost":       {ErrLogBlocked, true, longest},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLeaseServer(t)
				log := &pipe{full: make(chan struct{}), over: make(chan struct{})}
				h := hanging{on: new(atomic.Bool), stop: make(chan struct{})}
				m := s.manager(t, Options{GracePeriod: grace, Logger: slog.New(slog.NewTextHandler(log, nil))}, func(rt http.RoundTripper) http.RoundTripper {
					h := h
					h.next = rt
					return h
				})
				leads := make(chan struct{})
				if _, err := m.Add(Lead, "work", func(ctx context.Context) error {
					close(leads)
					for ctx.Err() == nil {
						_, _ = client.Get[coordinationv1.Lease](ctx, m.Live(), object.Key{Namespace: "shop", Name: "x"})
						_ = run.Sleep(ctx, time.Second)
					}
					for range 100 {
						m.Logger().Error("told to stop")
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				out := make(chan error, 1)
				go func() { out <- m.Run(ctx) }()
				<-leads
				if tc.want == ErrLogBlocked {
					close(log.full)
				} else {
					h.on.Store(true)
				}
				time.Sleep(5 * time.Second)
				began := time.Now()
				switch {
				case !tc.lost:
					cancel()
				case tc.want == ErrLogBlocked:
					s.take()
				}
				err := <-out
				if took := time.Since(began); took > tc.losing+grace+15*time.Second+2*hungWait {
					t.Errorf("returned after %v", took)
				}
				if !errors.Is(err, tc.want) || is[*leader.LostError](err) != tc.lost {
					t.Errorf("Run: %v", err)
				}
				if n := dropped(t, m); (n >= 90) != (tc.want == ErrLogBlocked) {
					t.Errorf("%v lines counted as dropped", n)
				}
				close(log.over)
				close(h.stop)
				time.Sleep(time.Minute) // the lease is released
			})
		})
	}
}

// dropped is the number of lines that the log has not taken.
func dropped(t *testing.T, m *Manager) float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "flyball_log_dropped_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Error("dropped lines are not counted")
	return 0
}
