package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
)

// referee stands between a program and the server. It asks for the lease before each write, and notes what is wrong.
type referee struct {
	next     http.RoundTripper
	identity string
	// cut returns whether a request about the lease is lost.
	cut func(*http.Request) bool

	mu    sync.Mutex
	wrong error
}

const (
	leaseURL      = "/apis/coordination.k8s.io/v1/namespaces/default/leases/parts"
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
)

var errCutOff = errors.New("cut off")

// RoundTrip implements [http.RoundTripper].
func (r *referee) RoundTrip(q *http.Request) (*http.Response, error) {
	about := strings.Contains(q.URL.Path, "/leases")
	switch {
	case about && r.cut != nil && r.cut(q):
		return nil, errCutOff
	case q.Method == http.MethodGet, strings.Contains(q.URL.Path, "/events"):
	case about:
		return r.claims(q)
	default:
		if err := r.judge(q, func(l *coordinationv1.Lease) error {
			if holder, end := *l.Spec.HolderIdentity, l.Spec.RenewTime.Add(renewDeadline); holder != r.identity || time.Now().After(end) {
				return fmt.Errorf("%s writes %v after its term; the lease is of %q", r.identity, time.Since(end), holder)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return r.next.RoundTrip(q)
}

// claims lets a write of the lease pass. One that the server takes must not take the lease of another that leads.
func (r *referee) claims(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	var resp *http.Response
	var failed error
	err = r.judge(q, func(l *coordinationv1.Lease) error {
		holder, end := *l.Spec.HolderIdentity, l.Spec.RenewTime.Add(leaseDuration)
		left := time.Until(end)
		if resp, failed = r.next.RoundTrip(q); failed != nil || resp.StatusCode >= 300 {
			return nil // it has not taken it
		}
		if holder != "" && holder != r.identity && strings.Contains(string(body), r.identity) && left > time.Millisecond { // times of leases are rounded
			return fmt.Errorf("%s takes the lease of %s, %v before its end", r.identity, holder, left)
		}
		return nil
	})
	if err == nil && failed == nil && resp == nil {
		return r.next.RoundTrip(q) // there is no lease
	}
	return resp, errors.Join(err, failed)
}

// judge reads the lease. It notes the error of check if there is a lease.
func (r *referee) judge(q *http.Request, check func(*coordinationv1.Lease) error) error {
	get, err := http.NewRequestWithContext(q.Context(), http.MethodGet, "http://"+q.URL.Host+leaseURL, nil)
	if err != nil {
		return err
	}
	resp, err := r.next.RoundTrip(get)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var l coordinationv1.Lease
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil || l.Spec.HolderIdentity == nil || l.Spec.RenewTime == nil {
		return err
	}
	if err := check(&l); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wrong = errors.Join(r.wrong, err)
	}
	return nil
}

// CloseIdleConnections does nothing: there are no connections.
func (*referee) CloseIdleConnections() {}

func (r *referee) verdict() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

// candidate returns a program that runs a manager with an election, and another one when it has lost its lease. It ends
// when something is wrong.
func candidate(identity string, cut func(*http.Request) bool, do func(*flyball.Manager) reconcile.Reconciler[reconcile.Request]) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		for ctx.Err() == nil {
			r := &referee{next: cfg.Transport, identity: identity, cut: cut}
			own := rest.CopyConfig(cfg)
			own.Transport = r
			m, err := flyball.New(flyball.Options{Name: "parts", Config: own, Logger: slog.New(slog.DiscardHandler),
				Leader: &leader.Options{Namespace: "default", Identity: identity, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline}})
			if err != nil {
				return err
			}
			if _, err := controller.NewWith(m, "apps", do(m), controller.Options{}, controller.For[corev1.ConfigMap]()); err != nil {
				return err
			}
			err = m.Run(ctx)
			if wrong := r.verdict(); wrong != nil {
				return wrong
			}
			if _, lost := errors.AsType[*leader.LostError](err); !lost || cut == nil {
				return err
			}
		}
		return context.Cause(ctx)
	}
}

// stubborn returns a reconciler that goes on after the end of its context, and asks the server each second whether it may
// write.
func stubborn(m *flyball.Manager) reconcile.Reconciler[reconcile.Request] {
	return func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
		c, err := client.Get[corev1.ConfigMap](ctx, m.Client(), key)
		if err != nil || c.Labels["kind"] != "app" {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		for range 40 {
			_, err := client.Patch(context.WithoutCancel(ctx), m.Client(), c, client.MergePatch(`{"data":{"x":"y"}}`), client.DryRun{})
			if _, fenced := errors.AsType[*client.FencedError](err); fenced {
				return reconcile.Result{}, nil
			}
			time.Sleep(time.Second)
		}
		return reconcile.Result{}, nil
	}
}

// A leader that cannot renew its lease stops to write at the end of its term, also if its reconciler ignores that.
func TestPartsLeaderThatIsCutOff(t *testing.T) {
	err := sim.Refer(t, sim.Scenario{
		Program: candidate("one", func(q *http.Request) bool { return q.Method == http.MethodPut && !time.Now().Before(firstRenewal) }, stubborn),
		Steps:   []sim.Step{app("a", `"x":"z"`, "")},
		Rest:    time.Minute,
	})
	if err != nil {
		t.Error(err)
	}
}

// firstRenewal is when the leases of these tests cannot be renewed any more: bubbles begin at the same time.
var firstRenewal = time.Date(2000, 1, 1, 0, 1, 5, 0, time.UTC)

// A leader whose lease somebody else takes stops to write at once.
func TestPartsLeaseThatIsTaken(t *testing.T) {
	err := sim.Refer(t, sim.Scenario{
		Program: candidate("one", func(*http.Request) bool { return false }, stubborn),
		Steps: []sim.Step{
			app("a", `"x":"z"`, ""),
			sim.Patch("leases.coordination.k8s.io", "default/parts", `{"spec":{"holderIdentity":"somebody","leaseDurationSeconds":60}}`),
		},
		Rest: 10 * time.Second,
	})
	if err != nil {
		t.Error(err)
	}
}

// marks returns a reconciler that writes who has seen an object first.
func marks(identity string) func(*flyball.Manager) reconcile.Reconciler[reconcile.Request] {
	return func(m *flyball.Manager) reconcile.Reconciler[reconcile.Request] {
		return func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
			c, err := client.Get[corev1.ConfigMap](ctx, m.Client(), key)
			if err != nil || c.Labels["kind"] != "app" || c.Data["by"] != "" {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			_, err = client.Patch(ctx, m.Client(), c, client.MergePatch(fmt.Sprintf(`{"data":{"by":%q}}`, identity)))
			return reconcile.Result{}, err
		}
	}
}

// Of two candidates one leads. The other one takes over when that has died, and not before.
func TestPartsTwoCandidates(t *testing.T) {
	dies := func(*http.Request) bool { return time.Now().After(firstRenewal.Add(time.Minute)) }
	by := func(name, identity string) sim.Invariant {
		return sim.Holds(name+" is seen to by "+identity, func(ctx context.Context, cfg *rest.Config) error {
			return asUser(cfg, func(c *client.Live) error {
				m, err := client.Get[corev1.ConfigMap](ctx, c, reconcile.Request{Namespace: "default", Name: name})
				if err == nil && m.Data["by"] != identity {
					err = fmt.Errorf("it is seen to by %q", m.Data["by"])
				}
				return client.IgnoreNotFound(err)
			})
		})
	}
	err := sim.Refer(t, sim.Scenario{
		Program: candidate("one", dies, marks("one")),
		Others:  map[string]func(context.Context, *rest.Config) error{"two": candidate("two", nil, marks("two"))},
		Steps:   []sim.Step{app("a", `"x":"z"`, ""), sim.Do("wait", func(context.Context, *rest.Config) error { return nil }), app("b", `"x":"z"`, "")},
		Settled: []sim.Invariant{by("a", "one"), by("b", "two")},
		Rest:    time.Minute,
	})
	if err != nil {
		t.Error(err)
	}
}

// refuseOnce answers the first event that is created with a 500.
type refuseOnce struct {
	http.RoundTripper
	once sync.Once
}

// CloseIdleConnections does nothing: there are no connections.
func (*refuseOnce) CloseIdleConnections() {}

// RoundTrip implements [http.RoundTripper].
func (r *refuseOnce) RoundTrip(q *http.Request) (resp *http.Response, err error) {
	if q.Method == http.MethodPost && strings.Contains(q.URL.Path, "/events") {
		r.once.Do(func() {
			resp = &http.Response{StatusCode: 500, Header: http.Header{"Content-Type": {"application/json"}}, Request: q,
				Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`))}
		})
	}
	if resp == nil {
		resp, err = r.RoundTripper.RoundTrip(q)
	}
	return resp, err
}

// An Event that the server refuses once comes later.
func TestPartsEvents(t *testing.T) {
	told := func(ctx context.Context, cfg *rest.Config) error {
		return asUser(cfg, func(c *client.Live) error {
			for _, err := range client.List[corev1.Event](ctx, c, client.InNamespace("default")) {
				return err
			}
			return errors.New("there is no Event")
		})
	}
	err := sim.Refer(t, sim.Scenario{
		Program: func(ctx context.Context, cfg *rest.Config) error {
			own := rest.CopyConfig(cfg)
			own.Transport = &refuseOnce{RoundTripper: cfg.Transport}
			return program(func(m *flyball.Manager) error {
				return operator(m, func(k kit) error {
					m.Events().Event(k.cm, event.Normal, "Seen", "See", "it is there")
					return nil
				})
			})(ctx, own)
		},
		Steps:   []sim.Step{app("a", `"x":"y"`, "")},
		Settled: []sim.Invariant{sim.Holds("an Event tells of it", told)},
	})
	if err != nil {
		t.Error(err)
	}
}
