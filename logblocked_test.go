package flyball

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/ops/leader"
)

// leaseServer is an API server with a version and one Lease, which cannot be watched.
type leaseServer struct {
	*httptest.Server
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
}

func newLeaseServer(t *testing.T) *leaseServer {
	s := &leaseServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// client has options of a client whose mapper knows Leases.
func (s *leaseServer) client() client.Options {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	return client.Options{Mapper: m}
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

// A log that blocks delays neither the loss of the lease nor the stop of the manager.
func TestBlockedLogDelaysNeitherLossNorStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(s *leaseServer, cancel func())
		lost bool
	}{
		"stopped":     {func(_ *leaseServer, cancel func()) { cancel() }, false},
		"lease taken": {func(s *leaseServer, _ func()) { s.take() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			log := &pipe{full: make(chan struct{}), over: make(chan struct{})}
			s := newLeaseServer(t)
			m, err := New(Options{
				Name: "shop", Config: &rest.Config{Host: s.URL}, Client: s.client(), GracePeriod: 100 * time.Millisecond,
				Leader: &leader.Options{Namespace: "shop", Identity: "me", LeaseDuration: 3 * time.Second},
				Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			if err != nil {
				t.Fatal(err)
			}
			leads, cut := make(chan struct{}), make(chan time.Time, 1)
			if _, err := m.Add(Lead, "work", func(ctx context.Context) error {
				close(leads)
				<-ctx.Done()
				cut <- time.Now()
				for range 100 {
					m.Logger().Error("I am told to stop")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := make(chan error, 1)
			go func() { out <- m.Run(ctx) }()
			select {
			case <-leads:
			case <-time.After(5 * time.Minute):
				t.Fatalf("no leader: %+v", m.elector.State())
			}
			close(log.full)
			began := time.Now()
			tc.end(s, cancel)
			err = <-out
			took := time.Since(began)
			close(log.over)
			if !errors.Is(err, ErrLogBlocked) {
				t.Errorf("Run does not say that a goroutine is left: %v", err)
			}
			if _, lost := errors.AsType[*leader.LostError](err); lost != tc.lost {
				t.Errorf("Run: %v", err)
			}
			told := (<-cut).Sub(began)
			if told > time.Minute || took > time.Minute { // once it was for ever
				t.Errorf("the work was told after %v, Run returned after %v", told, took)
			}
			t.Logf("the work was told after %v, Run returned after %v", told, took)
			families, err := m.Gatherer().Gather()
			if err != nil {
				t.Fatal(err)
			}
			dropped := 0.0
			for _, f := range families {
				if f.GetName() == "flyball_log_dropped_total" {
					dropped = f.GetMetric()[0].GetCounter().GetValue()
				}
			}
			if dropped < 90 {
				t.Errorf("%v lines counted as dropped", dropped)
			}
		})
	}
}
