package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reconcile"
)

// offline rejects every write.
type offline struct{ t testing.TB }

func (o offline) Write(_ context.Context, op client.Op) (object.Object, error) {
	o.t.Errorf("%s was sent", op.Verb)
	return nil, errors.New("offline")
}

func TestRunNamesTheBadArgument(t *testing.T) {
	nop := func(context.Context, *corev1.ConfigMap) error { return nil }
	g := &corev1.ConfigMap{}
	for want, call := range map[string]func() (*corev1.ConfigMap, error){
		"obj: is nil": func() (*corev1.ConfigMap, error) {
			return finalizer.Run[corev1.ConfigMap](t.Context(), offline{t}, nil, name)
		},
		`name: is "cleanup": it must have the form example.com/name`: func() (*corev1.ConfigMap, error) {
			return finalizer.Run[corev1.ConfigMap](t.Context(), offline{t}, g, "cleanup")
		},
		`name: is "a b/c"`: func() (*corev1.ConfigMap, error) {
			return finalizer.Run[corev1.ConfigMap](t.Context(), offline{t}, g, "a b/c")
		},
		"steps[0]: has no name": func() (*corev1.ConfigMap, error) {
			return finalizer.Run(t.Context(), offline{t}, g, name, finalizer.Do("", nop))
		},
		`steps[1]: "b" has no function`: func() (*corev1.ConfigMap, error) {
			return finalizer.Run(t.Context(), offline{t}, g, name, finalizer.Do("a", nop), finalizer.Do[*corev1.ConfigMap]("b", nil))
		},
		`steps[1]: "a" is given twice`: func() (*corev1.ConfigMap, error) {
			return finalizer.Run(t.Context(), offline{t}, g, name, finalizer.Do("a", nop), finalizer.Do("a", nop))
		},
	} {
		got, err := call()
		if _, ok := errors.AsType[*option.Error](err); got != nil || !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %q", got, err, want)
		}
	}
}

// failing answers every write with one error.
type failing struct{ err error }

func (f failing) Write(context.Context, client.Op) (object.Object, error) { return nil, f.err }

// Other errors of the server are returned unchanged.
func TestOtherServerErrorsArePassedOn(t *testing.T) {
	down := errors.New("down")
	lives := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "g"}}
	going := lives.DeepCopy()
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{name}
	for want, g := range map[string]*corev1.ConfigMap{
		"add finalizer webapp.example.com/cleanup to ConfigMap web/g: down":      lives,
		"remove finalizer webapp.example.com/cleanup from ConfigMap web/g: down": going,
	} {
		got, err := finalizer.Run[corev1.ConfigMap](t.Context(), failing{down}, g, name)
		if got != nil || !errors.Is(err, down) || err.Error() != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
		if res, same := finalizer.Result(err); same != err || res != (reconcile.Result{}) {
			t.Errorf("Result: %+v, %v", res, same)
		}
	}
	if res, err := finalizer.Result(nil); err != nil || res != (reconcile.Result{}) {
		t.Errorf("Result(nil): %+v, %v", res, err)
	}
	if res, _ := finalizer.Result(finalizer.Wait(0, "")); res.RequeueAfter != time.Second {
		t.Errorf("Wait(0): %+v", res)
	}
}

// memory is a server with one object, and handles only patches of finalizers.
type memory struct{ obj *corev1.ConfigMap }

func (m *memory) Write(_ context.Context, op client.Op) (object.Object, error) {
	fmt.Println("  server got:", string(op.Patch.Bytes()))
	return m.obj.DeepCopy(), nil
}

// A reconciler that holds an address outside the cluster for each of its objects.
func ExampleRun() {
	server := &memory{}
	release := func(_ context.Context, g *corev1.ConfigMap) error {
		fmt.Println("  release the address of", g.Name)
		return nil
	}
	reconcileIt := func(ctx context.Context, g *corev1.ConfigMap) (reconcile.Result, error) {
		g, err := finalizer.Run(ctx, server, g, "webapp.example.com/cleanup",
			finalizer.Do("release the address", release))
		if g == nil {
			return finalizer.Result(err)
		}
		fmt.Println("  hold an address for", g.Name)
		return reconcile.Result{}, nil
	}

	g := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "guests", UID: "u1"}}
	server.obj = g
	fmt.Println("created:")
	_, _ = reconcileIt(context.Background(), g)

	g.Finalizers = []string{"webapp.example.com/cleanup"}
	g.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	fmt.Println("being deleted:")
	_, _ = reconcileIt(context.Background(), g)
	// Output:
	// created:
	//   server got: [{"op":"test","path":"/metadata/uid","value":"u1"},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["webapp.example.com/cleanup"]}]
	//   hold an address for guests
	// being deleted:
	//   release the address of guests
	//   server got: [{"op":"test","path":"/metadata/uid","value":"u1"},{"op":"test","path":"/metadata/finalizers/0","value":"webapp.example.com/cleanup"},{"op":"remove","path":"/metadata/finalizers/0"}]
}
