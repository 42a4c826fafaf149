package flyball

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

// replica is a manager of a program with several replicas, on a real control plane.
type replica struct {
	*Manager
	leads, always chan string // names of reconciled objects
	stop          func() error
}

// patient are the options of a leader on the real clock: a machine that is slow for minutes loses no lease.
func patient(ns, identity string) *leader.Options {
	return &leader.Options{Namespace: ns, Identity: identity, LeaseDuration: 10 * time.Minute, RetryPeriod: time.Second}
}

func newReplica(t *testing.T, ns, identity string) *replica {
	t.Helper()
	m, err := New(Options{
		Name: "shop", Config: servertest.Shared(t).RESTConfig(), Cache: cache.Options{Namespaces: []string{ns}},
		Leader: patient(ns, identity),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)).With("replica", identity),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{Manager: m, leads: make(chan string, 1000), always: make(chan string, 1000)}
	for name, every := range map[string]bool{"leads": false, "always": true} {
		seen := map[bool]chan string{false: r.leads, true: r.always}[every]
		f := func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			seen <- req.Name
			return reconcile.Result{}, nil
		}
		if _, err := controller.NewWith(m, name, f, controller.Options{EveryReplica: every}, controller.For[corev1.ConfigMap]()); err != nil {
			t.Fatal(err)
		}
	}
	r.stop = ran(t, m)
	return r
}

// The standby has all kinds in its cache, and runs the controllers of every replica. Its other writes are
// refused. It takes over as soon as the leader has ended.
func TestStandbyTakesOver(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	is := func(want string) func(string) bool { return func(s string) bool { return s == want } }
	first := newReplica(t, ns, "first")
	if _, err := client.Create(t.Context(), first.Unfenced(), testobj.ConfigMap(ns+"/orders")); err != nil {
		t.Fatal(err)
	}
	until(t, first.leads, "by the leader", is("orders"))
	if _, err := client.Create(t.Context(), first.Client(), testobj.ConfigMap(ns+"/from-the-leader")); err != nil {
		t.Error(err)
	}
	next := newReplica(t, ns, "second")
	until(t, next.always, "on every replica", is("orders"))
	eventually(t, "the standby is ready", func() bool { return next.Ready().Err(t.Context()) == nil })
	for c, what := range map[client.Client]string{next.Client(): "Client", next.Live(): "Live"} {
		_, err := client.Create(t.Context(), c, testobj.ConfigMap(ns+"/from-the-standby"))
		_, fenced := errors.AsType[*client.FencedError](err)
		if _, ok := errors.AsType[*leader.NotLeadingError](err); !fenced || !ok {
			t.Errorf("%s of the standby writes: %v", what, err)
		}
	}
	if _, err := client.Create(t.Context(), next.Unfenced(), testobj.ConfigMap(ns+"/of-every-replica")); err != nil {
		t.Error(err)
	}
	if len(next.leads) > 0 || next.Leading() || !first.Leading() {
		t.Error("both lead")
	}
	kinds := len(next.Cache().Watches())

	began := time.Now()
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	until(t, next.leads, "by the next leader", is("orders"))
	t.Logf("stopped and taken over in %v", time.Since(began))
	if _, err := client.Create(t.Context(), next.Client(), testobj.ConfigMap(ns+"/from-the-next")); err != nil {
		t.Error(err)
	}
	if n := len(next.Cache().Watches()); n != kinds {
		t.Errorf("%d watches, %d on standby", n, kinds)
	}
}

// Fault 17 of docs/faults.md: a user edits the lease in the middle of a reconcile. The ctx of the reconcile ends with that cause,
// further writes are refused, and Run returns the cause.
func TestEditedLeaseStopsTheLeader(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	m, err := New(Options{
		Name: "shop", Config: p.RESTConfig(), Leader: patient(ns, "me"), Cache: cache.Options{Namespaces: []string{ns}},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	working, ended := make(chan struct{}, 1), make(chan [2]error, 1)
	r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req.Name != "orders" {
			return reconcile.Result{}, nil
		}
		working <- struct{}{}
		<-ctx.Done()
		_, err := client.Create(context.WithoutCancel(ctx), m.Client(), testobj.ConfigMap(ns+"/too-late"))
		ended <- [2]error{context.Cause(ctx), err}
		return reconcile.Result{}, err
	}
	if _, err := controller.New(m, "orders", r, controller.For[corev1.ConfigMap]()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), m.Unfenced(), testobj.ConfigMap(ns+"/orders")); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- m.Run(t.Context()) }()
	<-working
	lease, err := client.Get[coordinationv1.Lease](t.Context(), m.Unfenced(), object.Key{Namespace: ns, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	before := lease.DeepCopy()
	lease.Spec.HolderIdentity = new("somebody")
	if _, err := client.Patch(t.Context(), m.Unfenced(), lease, client.Diff(before, lease)); err != nil {
		t.Fatal(err)
	}
	errs := <-ended
	if lost, ok := errors.AsType[*leader.LostError](errs[0]); !ok || lost.Reason != "taken by another" || lost.Holder != "somebody" {
		t.Errorf("the reconcile was cancelled for %v", errs[0])
	}
	if _, ok := errors.AsType[*client.FencedError](errs[1]); !ok {
		t.Errorf("a write afterwards: %v", errs[1])
	}
	err = <-result
	if _, ok := errors.AsType[*leader.LostError](err); !ok {
		t.Errorf("Run: %v", err)
	}
	if _, err := client.Get[corev1.ConfigMap](t.Context(), m.Unfenced(), object.Key{Namespace: ns, Name: "too-late"}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a write got through: %v", err)
	}
}

// Metrics and pages beyond loopback are served to users whom the API server allows the path.
func TestMetricsAreAuthorized(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	m, err := New(Options{
		Name: "shop", Config: p.RESTConfig(), Metrics: Endpoint{Addr: ":0"},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []object.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stranger"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics", "/orders/*"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "reader"}}},
	} {
		if _, err := client.Create(t.Context(), m.Live(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/orders/", "/prices"} {
		if err := m.HandlePage(path, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})); err != nil {
			t.Fatal(err)
		}
	}
	up(t, m)
	at := m.Addrs().Metrics.String()
	url := "https://127.0.0.1" + at[strings.LastIndex(at, ":"):]
	for who, want := range map[string]int{"": http.StatusUnauthorized, "reader": http.StatusOK, "stranger": http.StatusForbidden} {
		token := ""
		if who != "" {
			token = tokenOf(t, m, object.Key{Namespace: ns, Name: who})
		}
		eventually(t, "the API server knows the role", func() bool { return asks(t, url+"/metrics", token) == want })
		if got := asks(t, url+"/orders/7", token); got != want {
			t.Errorf("%q asks for an allowed page: %d, want %d", who, got, want)
		}
		if got := asks(t, url+"/prices", token); got == http.StatusOK {
			t.Errorf("%q gets a page that nobody is allowed", who)
		}
	}
}

func tokenOf(t *testing.T, m *Manager, account object.Key) string {
	t.Helper()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	r, err := client.CreateSub(t.Context(), m.Live(), sa, "token", &authenticationv1.TokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// asks is the status code of a request with this token.
func asks(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	c := insecure()
	defer c.CloseIdleConnections()
	resp, err := c.Do(r)
	code, _ := text(t, resp, err)
	return code
}
