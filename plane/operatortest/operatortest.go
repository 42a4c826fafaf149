// Package operatortest runs a whole operator in a test: on a real control plane, with its CRDs, its
// webhooks and no more than its own permissions.
//
//	config/crd/bases ──────────► CRDs ──────────┐
//	config/rbac ───────────────► roles, bound ──┼──► control plane ◄── Operator.Client: the test, as administrator
//	config/webhook ─► by URL ──► webhooks ──────┘        ▲   │
//	                                                     │   │ webhook calls
//	                     Program.Add ──► manager, as the roles allow
//
// What the operator is forbidden shows as an error in its log and as a test that waits in vain: the
// markers for RBAC are then to be completed. What it asks for is recorded where FLYBALL_RBAC says
// (see package rbac).
package operatortest

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/backoff"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/plane"
	"github.com/flyball-io/flyball/plane/planetest"
	"github.com/flyball-io/flyball/rbac"
	"github.com/flyball-io/flyball/run"
)

// Bound is how long anything here is waited for. It is no expectation: what takes so long will
// never come.
const Bound = time.Minute

// Program is an operator as the test runs it.
type Program struct {
	// Options makes those of the manager. What concerns the cluster, webhooks' addresses and
	// certificates is set here; election, metrics and probes are off unless they are asked for.
	// Nil: they are all zero.
	Options func() (flyball.Options, error)
	// Config is the folder of the manifests, laid out as "flyball init" does: crd/bases, rbac,
	// webhook, samples. What is not there is passed over.
	Config string
	// Add adds controllers and webhooks to the manager. Nil: there are none.
	Add func(*flyball.Manager) error
}

// Operator is an operator that runs.
type Operator struct {
	// Manager of the operator.
	Manager *flyball.Manager
	// Client is the test's own, which may do everything.
	Client *client.Live
	// Namespace is one for the test's objects; the operator's own are there too.
	Namespace string

	program Program
}

// Start installs the operator's manifests and runs it on the control plane that all tests of the
// process share, until the test ends. It must then end without an error. Two operators of the same
// kinds must not run at the same time: the cluster can send a kind to one webhook only.
func Start(t testing.TB, p Program) *Operator {
	t.Helper()
	pl := planetest.Shared(t)
	op := &Operator{Namespace: planetest.Namespace(t, pl), program: p}
	ctx, cancel := context.WithTimeout(t.Context(), Bound)
	defer cancel()
	calls, err := op.prepare(ctx, t, pl)
	if err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	op.run(t)
	if err := op.connect(ctx, t, calls); err != nil {
		t.Fatalf("operatortest: the operator did not become ready: %v", err)
	}
	return op
}

// prepare makes the manager, and the cluster ready for it but for what calls it, which it returns.
func (op *Operator) prepare(ctx context.Context, t testing.TB, pl *plane.Plane) (calls []manifest.Object, err error) {
	var o flyball.Options
	if op.program.Options != nil {
		if o, err = op.program.Options(); err != nil {
			return nil, err
		}
	}
	if op.Client, err = client.New(pl.RESTConfig(), client.Options{Scheme: o.Scheme}); err != nil {
		return nil, err
	}
	t.Cleanup(op.Client.Close)
	rbac.RecordTest(t, &o.Client)
	user := "operatortest:" + op.Namespace
	if o.Config, err = pl.UserConfig(user); err != nil {
		return nil, err
	}
	objs, err := op.read("crd/bases", "rbac", "webhook")
	if err != nil {
		return nil, err
	}
	for _, obj := range objs {
		if called(obj) {
			if !manifest.IsCRD(obj) {
				obj.SetName(o.Name + "-" + obj.GetName()) // as config/default names it
			}
			calls = append(calls, obj)
		}
	}
	if len(calls) > 0 {
		m := &o.Webhooks.Managed
		o.Webhooks.Addr, m.Namespace, m.Settle = "127.0.0.1:0", op.Namespace, -1
	}
	if err := op.apply(ctx, slices.Concat(grants(objs, user, op.Namespace), crds(objs))); err != nil {
		return nil, err
	}
	if op.Manager, err = flyball.New(o); err != nil {
		return nil, err
	}
	if op.program.Add != nil {
		err = op.program.Add(op.Manager)
	}
	return calls, err
}

func (op *Operator) apply(ctx context.Context, objs []manifest.Object) error {
	return manifest.Apply(ctx, op.Client, "operatortest", objs, manifest.Hooks{})
}

// crds are the CRDs among the objects, as long as nobody answers calls.
func crds(objs []manifest.Object) []manifest.Object {
	return slices.DeleteFunc(manifest.WithoutCalls(objs), func(o manifest.Object) bool { return !manifest.IsCRD(o) })
}

// called reports whether an object tells the API server to call somebody.
func called(o manifest.Object) bool {
	return len(manifest.WithoutCalls([]manifest.Object{o})) == 0 || manifest.IsCRD(o) && manifest.Converts(o)
}

// connect has the API server call the operator, and returns when it does, and all is ready.
func (op *Operator) connect(ctx context.Context, t testing.TB, calls []manifest.Object) error {
	if len(calls) > 0 {
		var addr net.Addr
		err := until(ctx, func() error {
			if addr = op.Manager.Addrs().Webhooks; addr == nil {
				return errors.New("the webhooks are not served")
			}
			return nil
		})
		if err != nil {
			return err
		}
		t.Cleanup(func() { op.withdraw(t, calls) })
		if err := op.apply(ctx, manifest.ByURL(calls, "https://"+addr.String())); err != nil {
			return err
		}
	}
	if err := until(ctx, func() error { return op.Manager.Ready().Err(ctx) }); err != nil {
		return err
	}
	return op.barrier(ctx, calls)
}

// withdraw takes out of the cluster what calls the operator, which ends.
func (op *Operator) withdraw(t testing.TB, calls []manifest.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Bound)
	defer cancel()
	for _, o := range calls {
		var err error
		if manifest.IsCRD(o) {
			// Not by apply: the CA in it is somebody else's.
			_, err = client.Patch(ctx, op.Client, o, client.MergePatch(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
		} else {
			err = manifest.Delete(ctx, op.Client, []manifest.Object{o}, manifest.Hooks{})
		}
		if err != nil {
			t.Errorf("operatortest: %v", err)
		}
	}
}

// until returns when ok has no objection any more, or with the last one when ctx ends.
func until(ctx context.Context, ok func() error) error {
	wait := backoff.Backoff{Policy: backoff.Policy{Base: 5 * time.Millisecond, Max: 200 * time.Millisecond}}
	for {
		err := ok()
		if err == nil || run.Sleep(ctx, wait.Fail(time.Now())) != nil {
			return err
		}
	}
}

// run runs the manager until the test ends.
func (op *Operator) run(t testing.TB) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- op.Manager.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("operatortest: the operator ended with: %v", err)
		}
	})
}

// read reads those folders of the manifests that are there.
func (op *Operator) read(folders ...string) ([]manifest.Object, error) {
	var all []manifest.Object
	for _, folder := range folders {
		if op.program.Config == "" {
			break
		}
		objs, err := manifest.Read(filepath.Join(op.program.Config, filepath.FromSlash(folder)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(all, objs...)
	}
	return all, nil
}

// Samples creates the objects in the folder "samples", in the test's namespace where they have
// none, and deletes them again. Each must be accepted, by its webhooks too, and be served in the
// version in which it is written.
func (op *Operator) Samples(t testing.TB) {
	t.Helper()
	objs, err := op.read("samples")
	if err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), Bound)
	defer cancel()
	for _, o := range objs {
		op.place(o)
		made, err := client.Create(ctx, op.Client, o)
		if err != nil {
			t.Errorf("sample %s: %v", manifest.Name(o), err)
			continue
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Bound)
			defer cancel()
			if err := client.IgnoreNotFound(client.Delete(ctx, op.Client, made)); err != nil {
				t.Errorf("sample %s: %v", manifest.Name(o), err)
			}
		})
		if err := op.Client.Get(ctx, object.KeyOf(o), made, client.GetOptions{}); err != nil {
			t.Errorf("sample %s: %v", manifest.Name(o), err)
		}
	}
}

// place puts an object of a namespaced kind into the test's namespace, unless it has one.
func (op *Operator) place(o manifest.Object) {
	if o.GetNamespace() != "" {
		return
	}
	gvk := o.GroupVersionKind()
	if m, err := op.Client.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version); err == nil && m.Scope.Name() == "namespace" {
		o.SetNamespace(op.Namespace)
	}
}

// Await returns the object as soon as ok holds, and fails the test if that does not happen.
func Await[T any, P object.Ptr[T]](t testing.TB, op *Operator, obj P, ok func(P) bool) P {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Bound)
	defer cancel()
	last := obj
	for {
		opts := []client.ListOption{client.FieldSelector("metadata.name=" + obj.GetName())}
		if ns := obj.GetNamespace(); ns != "" {
			opts = append(opts, client.InNamespace(ns))
		}
		w, err := client.Watch[T, P](ctx, op.Client, opts...)
		if err != nil {
			t.Fatalf("operatortest: %v", err)
		}
		for e, err := range w.Events() {
			if err != nil {
				if ctx.Err() == nil {
					break // the server ends watches
				}
				t.Fatalf("operatortest: waited in vain for %T %s, which is now %+v", obj, object.KeyOf(obj), last)
			}
			if e.Object == nil {
				continue
			}
			if last = e.Object; ok(last) {
				w.Stop()
				return last
			}
		}
	}
}
