package controller_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/operatortest"
	"github.com/flyball-io/flyball/test/servertest"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
	"github.com/flyball-io/flyball/examples/guestbook/internal/setup"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(replicaName); name != "" { // see TestLeaderKilled
		if err := replica(name); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		return
	}
	servertest.Main(m)
}

// start runs the whole program on the API server of the tests, with the permissions that
// config/rbac gives it, until the test ends. What it returns may do everything.
func start(t *testing.T, changes ...func(*flyball.Options)) *operatortest.Operator {
	t.Helper()
	options := func() (flyball.Options, error) {
		o, err := setup.Options()
		for _, change := range changes {
			change(&o)
		}
		return o, err
	}
	return operatortest.Start(t, operatortest.Program{Options: options, Add: setup.Add, Config: "../../config"})
}

// TestSamples creates everything in config/samples, as a user of the cluster would.
func TestSamples(t *testing.T) { start(t).Samples(t) }

// create creates a Guestbook, which is deleted at the end of the test, protected or not.
func create(t *testing.T, op *operatortest.Operator, name string, spec webappv1.GuestbookSpec) *webappv1.Guestbook {
	t.Helper()
	g, err := client.Create(t.Context(), op.Client, &webappv1.Guestbook{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: op.Namespace}, Spec: spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, err := client.Patch(ctx, op.Client, g, client.MergePatch(`{"metadata":{"annotations":null}}`))
		if err == nil {
			err = client.Delete(ctx, op.Client, g)
		}
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		gone[webappv1.Guestbook](t, op.Client, g)
	})
	return g
}

// gone waits until an object is not there any more.
func gone[T any, P object.Ptr[T]](t *testing.T, c client.Client, obj object.Object) {
	t.Helper()
	eventually(t, operatortest.Bound, func(ctx context.Context) error {
		found, err := client.Get[T, P](ctx, c, object.KeyOf(obj))
		if err == nil {
			return fmt.Errorf("it is still there: %+v", found)
		}
		return client.IgnoreNotFound(err)
	})
}

// eventually waits until ok has no objection any more.
func eventually(t *testing.T, bound time.Duration, ok func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), bound)
	defer cancel()
	for last := error(nil); ; {
		err := ok(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil { // else the end of the wait hides what it was for
			last = err
		}
		if run.Sleep(ctx, 50*time.Millisecond) != nil {
			t.Fatalf("waited in vain: %v; last: %v", last, err)
		}
	}
}
