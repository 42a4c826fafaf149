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
// markers for RBAC are then to be completed.
package operatortest

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/plane"
	"github.com/flyball-io/flyball/plane/planetest"
)

// Bound is how long anything here is waited for. It is no expectation: what takes so long will
// never come.
const Bound = time.Minute

// Program is an operator as the test runs it.
type Program struct {
	// Name of the manager. Empty: "operator".
	Name string
	// Config is the folder of the manifests, laid out as "flyball init" does: crd/bases, rbac,
	// webhook, samples. What is not there is passed over.
	Config string
	// Scheme makes the scheme of manager and client. Nil: one of the built-in kinds.
	Scheme func() (*runtime.Scheme, error)
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
	if p.Name == "" {
		p.Name = "operator"
	}
	pl := planetest.Shared(t)
	op := &Operator{Namespace: planetest.Namespace(t, pl), program: p}
	ctx, cancel := context.WithTimeout(t.Context(), Bound)
	defer cancel()
	if err := op.prepare(ctx, t, pl); err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	op.run(t)
	return op
}

// prepare makes the manager, and the cluster ready for it.
func (op *Operator) prepare(ctx context.Context, t testing.TB, pl *plane.Plane) error {
	var err error
	co := client.Options{}
	if op.program.Scheme != nil {
		if co.Scheme, err = op.program.Scheme(); err != nil {
			return err
		}
	}
	if op.Client, err = client.New(pl.RESTConfig(), co); err != nil {
		return err
	}
	t.Cleanup(op.Client.Close)
	crds, err := op.read("crd/bases")
	if err != nil {
		return err
	}
	roles, err := op.read("rbac")
	if err != nil {
		return err
	}
	user := "operatortest:" + op.Namespace
	objs := append(crds, grants(roles, user, op.Namespace)...)
	if err := manifest.Apply(ctx, op.Client, "operatortest", objs, manifest.Hooks{}); err != nil {
		return err
	}
	cfg, err := pl.UserConfig(user)
	if err != nil {
		return err
	}
	if op.Manager, err = flyball.New(flyball.Options{Name: op.program.Name, Config: cfg, Scheme: co.Scheme}); err != nil {
		return err
	}
	if op.program.Add != nil {
		return op.program.Add(op.Manager)
	}
	return nil
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

// read reads a folder of the manifests, if it is there.
func (op *Operator) read(folder string) ([]manifest.Object, error) {
	if op.program.Config == "" {
		return nil, nil
	}
	objs, err := manifest.Read(filepath.Join(op.program.Config, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return objs, err
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
