package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/operatortest"
	"github.com/flyball-io/flyball/webhook/convert"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
	webappv2 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v2"
	"github.com/flyball-io/flyball/examples/guestbook/internal/setup"
)

const (
	guestbooks = 50
	settle     = 4 * time.Minute // is enough to come to rest, also on a loaded machine
)

// TestLeaderKilled kills the leader of three replicas, again and again at random moments, while
// Guestbooks are created, changed and deleted. In the end each has exactly its own children, and
// they are as it says. With FLYBALL_LONG=1 there are 100 kills.
func TestLeaderKilled(t *testing.T) {
	tier.Audit(t, "kills programs at moments of the real clock")
	kills := 5
	if os.Getenv("FLYBALL_LONG") != "" {
		kills = 100
	}
	op := operatortest.Start(t, operatortest.Program{Options: setup.Options, Add: onlyWebhooks, Config: "../../config"})
	var rs replicas
	rs.run(t, op, 3)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	churning, stop := context.WithCancel(t.Context())
	defer stop()
	c := &churn{op: op, random: rand.New(rand.NewPCG(seed, 1)), want: map[string]webappv1.GuestbookSpec{}}
	for i := range guestbooks {
		if err := c.step(t.Context(), guestbook(i)); err != nil {
			t.Fatal(err)
		}
	}
	churned := make(chan error, 1)
	go func() { churned <- c.run(churning) }()

	began := time.Now()
	for killed := 0; killed < kills; {
		leader := awaitLeader(t, op, &rs)
		_ = run.Sleep(t.Context(), time.Duration(random.Int64N(int64(time.Second)))) // the random moment
		if rs.kill(leader) {
			killed++
		} else {
			t.Logf("%s ended by itself: %s", leader, rs.said(leader))
		}
	}
	stop()
	if err := <-churned; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills in %v, with %d creations, %d changes and %d deletions", kills, time.Since(began).Round(time.Second), c.created, c.changed, c.deleted)

	began = time.Now()
	eventually(t, settle, func(ctx context.Context) error { return c.check(ctx) })
	t.Logf("all in order after %v", time.Since(began).Round(time.Millisecond))

	eventually(t, settle, func(ctx context.Context) error { // a server that is busy needs more than one request
		return client.DeleteAll[webappv1.Guestbook](ctx, op.Client, client.InNamespace(op.Namespace))
	})
	clear(c.want)
	eventually(t, settle, func(ctx context.Context) error { return c.check(ctx) })
}

func guestbook(i int) string { return fmt.Sprintf("visitors-%d", i) }

// onlyWebhooks adds what the API server calls; replicas do the rest.
func onlyWebhooks(mgr *flyball.Manager) error {
	return errors.Join(webappv1.DefaultGuestbook(mgr), webappv1.ValidateGuestbook(mgr),
		convert.Serve(mgr, convert.Hub[webappv1.Guestbook](), convert.SpokeByMethods[webappv2.Guestbook, webappv1.Guestbook]()))
}

// awaitLeader returns the name of the replica that leads. It does not use operatortest.Await, which ends a wait when the
// manager of this process has nothing to do: the replicas are other processes.
func awaitLeader(t *testing.T, op *operatortest.Operator, rs *replicas) (name string) {
	t.Helper()
	eventually(t, settle, func(ctx context.Context) error {
		held, err := client.Get[coordinationv1.Lease](ctx, op.Client, object.Key{Namespace: op.Namespace, Name: lease})
		if err != nil {
			return err
		}
		if held.Spec.HolderIdentity == nil || !rs.lives(*held.Spec.HolderIdentity) {
			return fmt.Errorf("nobody who lives holds %+v", held.Spec)
		}
		name = *held.Spec.HolderIdentity
		return nil
	})
	return name
}

// churn changes Guestbooks.
type churn struct {
	op     *operatortest.Operator
	random *rand.Rand
	want   map[string]webappv1.GuestbookSpec // what is to be there in the end

	created, changed, deleted int
}

func (c *churn) run(ctx context.Context) error {
	for ctx.Err() == nil {
		name := guestbook(c.random.IntN(guestbooks))
		if err := c.step(context.WithoutCancel(ctx), name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_ = run.Sleep(ctx, time.Duration(c.random.Int64N(int64(80*time.Millisecond))))
	}
	return nil
}

// step does something to one Guestbook.
func (c *churn) step(ctx context.Context, name string) error {
	g := &webappv1.Guestbook{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.op.Namespace}}
	_, exists := c.want[name]
	if exists && c.random.IntN(6) == 0 {
		delete(c.want, name)
		c.deleted++
		return client.Delete(ctx, c.op.Client, g)
	}
	size := c.random.Int32N(3) + 1
	spec := webappv1.GuestbookSpec{Size: &size, Message: fmt.Sprintf("Hello %d", c.random.Uint32())}
	if exists {
		c.want[name] = spec
		c.changed++
		_, err := client.Patch(ctx, c.op.Client, g, client.MergePatch(map[string]any{"spec": spec}))
		return err
	}
	g.Spec = spec
	_, err := client.Create(ctx, c.op.Client, g)
	if _, ok := errors.AsType[*client.AlreadyExistsError](err); ok {
		return nil // it is still being deleted
	}
	c.want[name] = spec
	c.created++
	return err
}

// check says what is not as it should be.
func (c *churn) check(ctx context.Context) error {
	owners := map[string]*webappv1.Guestbook{}
	for g, err := range client.List[webappv1.Guestbook](ctx, c.op.Client, client.InNamespace(c.op.Namespace)) {
		if err != nil {
			return err
		}
		want, ok := c.want[g.Name]
		if !ok || g.DeletionTimestamp != nil || g.Spec.Message != want.Message || *g.Spec.Size != *want.Size {
			return fmt.Errorf("guestbook %s: %+v, want %+v", g.Name, g, want)
		}
		if g.Status.ObservedGeneration != g.Generation || len(g.Finalizers) != 1 {
			return fmt.Errorf("guestbook %s: generation %d, finalizers %q, status %+v", g.Name, g.Generation, g.Finalizers, g.Status)
		}
		owners[g.Name] = g
	}
	if len(owners) != len(c.want) {
		return fmt.Errorf("%d guestbooks, want %d", len(owners), len(c.want))
	}
	if err := children(ctx, c.op, owners, func(g *webappv1.Guestbook, d *appsv1.Deployment) bool {
		return *d.Spec.Replicas == *g.Spec.Size && d.Spec.Template.Spec.Containers[0].Env[0].Value == g.Spec.Message
	}); err != nil {
		return err
	}
	return children(ctx, c.op, owners, func(g *webappv1.Guestbook, s *corev1.Service) bool {
		return s.Spec.Selector["app.kubernetes.io/instance"] == g.Name
	})
}

// children checks that each owner has exactly one child of a kind, and that there are no others.
func children[T any, P object.Ptr[T]](ctx context.Context, op *operatortest.Operator, owners map[string]*webappv1.Guestbook, ok func(*webappv1.Guestbook, P) bool) error {
	found := 0
	for obj, err := range client.List[T, P](ctx, op.Client, client.InNamespace(op.Namespace)) {
		if err != nil {
			return err
		}
		found++
		owner, by := owners[obj.GetName()], metav1.GetControllerOf(obj)
		if owner == nil || by == nil || by.UID != owner.UID || obj.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%T %s is an orphan, of %+v", obj, obj.GetName(), by)
		}
		if !ok(owner, obj) {
			return fmt.Errorf("%T %s is not as %+v says: %+v", obj, obj.GetName(), owner.Spec, obj)
		}
	}
	if found != len(owners) { // names are unique, so none has two
		return fmt.Errorf("%d of %T, want %d", found, P(nil), len(owners))
	}
	return nil
}
