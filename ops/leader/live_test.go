package leader_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := candidateMain(args); err != nil {
			fmt.Fprintln(os.Stderr, "candidate:", err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(servertest.Wrap(m))
}

// dial returns a client of the shared control plane.
func dial(t *testing.T) *client.Live {
	t.Helper()
	return livetest.Client(t, servertest.Shared(t), client.Options{})
}

// world runs a test with a server of its own, in memory and in a bubble: time is virtual, and connections are pipes. If the
// tests run on a real control plane, the test has that one, and the real clock.
func world(t *testing.T, test func(t *testing.T, p *servertest.Server, c *client.Live, ns string)) {
	t.Helper()
	t.Parallel()
	if servertest.Real() {
		test(t, servertest.Shared(t), dial(t), servertest.Namespace(t, servertest.Shared(t)))
		return
	}
	tier.NotShort(t, "starts an API server")
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		s := apiserver.Start(t, apiserver.Options{InMemory: true, RBAC: true, Controllers: []string{"*"}})
		p := &servertest.Server{Memory: s}
		test(t, p, livetest.Client(t, s, client.Options{}), servertest.Namespace(t, p))
	})
}

// candidacy is a running elector.
type candidacy struct {
	e     *leader.Elector
	began chan struct{} // closed when it leads
	stop  context.CancelFunc
	out   chan error
}

func run(t *testing.T, c client.Client, o leader.Options) *candidacy {
	t.Helper()
	e, err := leader.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	k := &candidacy{e: e, began: make(chan struct{}), stop: cancel, out: make(chan error, 1)}
	go func() {
		k.out <- e.Run(ctx, func(ctx context.Context) error {
			close(k.began)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		close(k.out)
	}()
	t.Cleanup(func() {
		cancel()
		for range k.out {
		}
	})
	return k
}

func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s: not within 5 minutes", what)
		panic("unreachable")
	}
}

// options lets a leader miss renewals for 25 seconds: on a busy machine, none is lost by chance.
func options(namespace, identity string) leader.Options {
	return leader.Options{
		Namespace: namespace, Name: "operator", Identity: identity,
		LeaseDuration: 30 * time.Second, RenewDeadline: 25 * time.Second, RetryPeriod: 500 * time.Millisecond,
	}
}

// watching returns options, and a channel that is closed when the elector has seen the holder.
func watching(o leader.Options, holder string) (leader.Options, <-chan struct{}) {
	seen := make(chan struct{})
	done := false
	o.Hook = func(s leader.Leadership) {
		if s.Holder == holder && !done {
			done = true
			close(seen)
		}
	}
	return o, seen
}

func TestReleasedLeaseIsTakenOver(t *testing.T) { world(t, releasedLeaseIsTakenOver) }

func releasedLeaseIsTakenOver(t *testing.T, _ *servertest.Server, c *client.Live, ns string) {
	key := object.Key{Namespace: ns, Name: "operator"}
	a := run(t, c, options(ns, "a"))
	await(t, "a leads", a.began)
	o, seen := watching(options(ns, "b"), "a")
	b := run(t, c, o)
	await(t, "b sees a", seen)
	a.stop()
	if err := await(t, "a ends", a.out); !errors.Is(err, context.Canceled) {
		t.Errorf("a: %v", err)
	}
	await(t, "b leads", b.began)
	lease, err := client.Get[coordinationv1.Lease](t.Context(), c, key)
	if err != nil || *lease.Spec.HolderIdentity != "b" || *lease.Spec.LeaseTransitions != 1 || *lease.Spec.LeaseDurationSeconds != 30 {
		t.Errorf("%+v, %v", lease.Spec, err)
	}
	// The Lease is edited by hand.
	if _, err := client.Patch(t.Context(), c, lease, client.MergePatch(map[string]any{"spec": map[string]any{"holderIdentity": "bob"}})); err != nil {
		t.Fatal(err)
	}
	if lost, ok := errors.AsType[*leader.LostError](await(t, "b ends", b.out)); !ok || lost.Reason != "taken by another" || lost.Holder != "bob" {
		t.Errorf("b: %v", lost)
	}
	if s := b.e.State(); s.Leading || s.Holder != "bob" {
		t.Errorf("b: %+v", s)
	}
	// The Lease is deleted while others wait for it, and then while it is held.
	o, seen = watching(options(ns, "c"), "bob")
	d := run(t, c, o)
	await(t, "c sees bob", seen)
	if err := client.Delete(t.Context(), c, lease); err != nil {
		t.Fatal(err)
	}
	await(t, "c leads", d.began)
	if err := client.Delete(t.Context(), c, lease); err != nil {
		t.Fatal(err)
	}
	if lost, ok := errors.AsType[*leader.LostError](await(t, "c ends", d.out)); !ok || lost.Reason != "deleted" {
		t.Errorf("c: %v", lost)
	}
}

// A leader that dies without releasing is replaced when its term is over. The Lease has the form of
// client-go's election, with and without a release.
func TestLiveLeaseOfADeadLeader(t *testing.T) {
	for name, spec := range map[string]coordinationv1.LeaseSpec{
		"held":     {HolderIdentity: new("host_5b1e"), LeaseDurationSeconds: new(int32(1)), LeaseTransitions: new(int32(3))},
		"released": {HolderIdentity: new(""), LeaseDurationSeconds: new(int32(1)), LeaseTransitions: new(int32(3))},
		"empty":    {},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, _ *servertest.Server, c *client.Live, ns string) {
				if spec.HolderIdentity != nil {
					now := metav1.NowMicro()
					spec.AcquireTime, spec.RenewTime = &now, &now
				}
				made := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
				if _, err := client.Create(t.Context(), c, made); err != nil {
					t.Fatal(err)
				}
				o := options(ns, "a")
				o.Name = name
				a := run(t, c, o)
				await(t, "a leads", a.began)
				lease, err := client.Get[coordinationv1.Lease](t.Context(), c, object.KeyOf(made))
				if err != nil || *lease.Spec.HolderIdentity != "a" || *lease.Spec.LeaseTransitions%3 != 1 {
					t.Errorf("%+v, %v", lease.Spec, err)
				}
			})
		})
	}
}

func TestMissingPermissionIsInTheState(t *testing.T) { world(t, missingPermissionIsInTheState) }

func missingPermissionIsInTheState(t *testing.T, p *servertest.Server, admin *client.Live, ns string) {
	cfg, err := p.UserConfig("operator")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	a := run(t, c, options(ns, "a"))
	allow := func(verbs ...string) {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "leases"}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: verbs,
		}}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: role.ObjectMeta,
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "operator"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "leases"},
		}
		if _, err := client.Apply(t.Context(), admin, role, "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Apply(t.Context(), admin, binding, "test"); err != nil {
			t.Fatal(err)
		}
	}
	missing := func(verb string) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for end := time.After(5 * time.Minute); ; {
			select {
			case <-tick.C:
			case <-end:
				t.Fatalf("the state does not say that %s is missing: %v", verb, a.e.State().Err)
			}
			err := a.e.State().Err
			if _, ok := errors.AsType[*client.ForbiddenError](err); ok && strings.Contains(err.Error(), verb+" leases.coordination.k8s.io") {
				return
			}
		}
	}
	missing("get")
	allow("get")
	missing("create")
	allow("get", "create", "update")
	await(t, "a leads without a watch", a.began)
	if err := a.e.State().Err; err != nil {
		t.Error(err)
	}
}
