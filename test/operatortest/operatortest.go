// Package operatortest runs a whole operator in a test: on an API server, with its CRDs, its webhooks and
// only its own permissions. The server is one in memory, or a real control plane if the environment
// variable FLYBALL_REAL is set; see package servertest. [Start] installs the manifests, runs the operator
// until the test ends, and returns it when it is ready:
//
//	op := operatortest.Start(t, operatortest.Program{Config: "../config", Add: setup.Add})
//	op.Samples(t)
//	obj = operatortest.Await(t, op, obj, func(o *v1.Shop) bool { return o.Status.Ready })
//
//	config/crd/bases ──────────► CRDs ──────────┐
//	config/rbac ───────────────► roles, bound ──┼──► API server ◄───── Operator.Client: the test, as administrator
//	config/webhook ────────────► webhooks ──────┘        ▲   │ webhook calls
//	                                                     │   ▼
//	                                                     │  Service: to replicas that are ready
//	                                                     │   │
//	                     Program.Add ──► managers, as the roles allow
//
// The API server calls webhooks through an address that follows the rule of their Service in
// config/webhook. Connections go to ready replicas, or to all if the Service has
// publishNotReadyAddresses.
//
// A program of another framework runs by Program.Run. The config folder of kubebuilder has the same layout.
//
// A missing permission shows as an error in the operator's log and as a test that waits in vain; [Await] shows
// that line. Complete the RBAC markers. The requests of the operator are recorded in the folder that
// FLYBALL_RBAC names (see package rbac).
package operatortest

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/servertest"
)

// Bound is the timeout of every wait in this package, unless Program.Bound is set. A condition that does not
// hold by then never will.
const Bound = 5 * time.Minute

// Program describes the operator under test.
type Program struct {
	// Options returns the manager's options. Start sets the options for the cluster, the addresses
	// of webhooks and certificates. Where Webhooks.CertDir is set, Start makes the certificate, as
	// cert-manager would. Election, metrics and probes are off unless the options turn them on. Nil
	// means zero options.
	Options func() (flyball.Options, error)
	// Config is the folder of the manifests, in the layout of "flyball init": crd/bases, crd/external
	// for the CRDs of others, rbac, webhook, samples. Missing folders are skipped.
	Config string
	// Namespaced has the program watch the test's namespace only, and its webhooks called for it only.
	Namespaced bool
	// Add adds controllers and webhooks to the manager. Nil adds none.
	Add func(*flyball.Manager) error
	// Replicas is the number of managers. Zero or negative means one. Options and Add are called
	// for each. Several replicas should elect a leader. If the options leave the namespace of the
	// Lease empty, it is the test's namespace.
	Replicas int
	// Run runs a program that has a manager of its own, such as that of controller-runtime, until its
	// context ends. Add and Replicas are not used then, and of Options the name and the scheme.
	Run func(context.Context, *Operator) error
	// Bound is the timeout of every wait. Zero or negative means [Bound].
	Bound time.Duration
}

// Operator is a running operator.
type Operator struct {
	// Manager is the manager of the first replica. Restart replaces it. It is nil with Program.Run.
	Manager *flyball.Manager
	// Replicas are all managers.
	Replicas []*flyball.Manager
	// Client is the test's client, with an administrator's permissions.
	Client *client.Live
	// Namespace is the namespace for the objects of the test and of the operator.
	Namespace string
	// Config is the configuration of a user with the permissions of the operator's roles, and no others.
	Config *rest.Config
	// WebhookHost and WebhookPort are where the webhooks of Program.Run must listen, with tls.crt and tls.key
	// of CertDir. They are empty if nothing calls the operator.
	WebhookHost string
	WebhookPort int
	CertDir     string

	program Program
	server  *servertest.Server
	said    said
	callers []manifest.Object
	service *service       // nil: nothing calls the operator
	record  client.Options // its hook records the requests
	stop    func() error
}

// Start installs the operator's manifests, and runs the operator until the test ends. The API
// server is the one that all tests of the process share. The operator must end without an error. Two
// operators of the same kinds must not run at the same time: the cluster can send a kind to one
// webhook only.
func Start(t testing.TB, p Program) *Operator {
	t.Helper()
	server := servertest.Shared(t)
	if p.Bound <= 0 {
		p.Bound = Bound
	}
	op := &Operator{Namespace: servertest.Namespace(t, server), program: p, server: server}
	ctx, cancel := context.WithTimeout(t.Context(), p.Bound)
	defer cancel()
	if err := op.prepare(ctx, t, server); err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	op.run(t)
	t.Cleanup(func() { op.end(t) })
	if err := op.connect(ctx, t); err != nil {
		t.Fatalf("operatortest: the operator did not become ready: %v", err)
	}
	return op
}

// Restart ends all replicas and starts as many new ones, which run until the test ends. It calls
// down, unless it is nil, while none runs. It returns when all are ready.
func (op *Operator) Restart(t testing.TB, down func()) {
	t.Helper()
	op.end(t)
	if down != nil {
		down()
	}
	ctx, cancel := context.WithTimeout(t.Context(), op.program.Bound)
	defer cancel()
	if err := op.replicas(); err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	op.run(t)
	if err := op.ready(ctx); err != nil {
		t.Fatalf("operatortest: the operator did not become ready again: %v", err)
	}
}

// prepare makes the managers and applies the manifests, except for the objects that make the API
// server call the operator.
func (op *Operator) prepare(ctx context.Context, t testing.TB, server *servertest.Server) error {
	o, err := op.options()
	if err != nil {
		return err
	}
	if op.Client, err = client.New(server.RESTConfig(), client.Options{Scheme: o.Scheme}); err != nil {
		return err
	}
	t.Cleanup(op.Client.Close)
	rbac.RecordTest(t, &op.record)
	user := "operatortest:" + op.Namespace
	if op.Config, err = server.UserConfig(user); err != nil {
		return err
	}
	objs, err := op.read("crd/bases", "crd/external", "rbac", "webhook")
	if err != nil {
		return err
	}
	renamed := map[string]string{}
	for _, obj := range objs {
		if isCaller(obj) {
			if name := obj.GetName(); !manifest.IsCRD(obj) {
				renamed[name] = cmp.Or(o.Name, op.Namespace) + "-" + name // two operators must not share one
				obj.SetName(renamed[name])
				op.program.own(obj, op.Namespace)
			}
			op.callers = append(op.callers, obj)
		}
	}
	grantNames(objs, renamed)
	if op.program.Run != nil {
		if err := op.foreign(t); err != nil {
			return err
		}
	} else if len(op.callers) > 0 {
		if o.Webhooks.CertDir != "" {
			if _, err := op.certify(t.TempDir()); err != nil {
				return err
			}
		}
		if op.service, err = newService(objs); err != nil {
			return err
		}
		t.Cleanup(op.service.close)
	}
	if err := op.apply(ctx, slices.Concat(grants(objs, user, op.Namespace), crds(objs))); err != nil {
		return err
	}
	return op.replicas()
}

// options returns the options of the program.
func (op *Operator) options() (o flyball.Options, err error) {
	if op.program.Options != nil {
		o, err = op.program.Options()
	}
	return o, err
}

// replicas makes the managers.
func (op *Operator) replicas() error {
	op.Replicas = nil
	if op.program.Run != nil {
		return nil
	}
	for range max(op.program.Replicas, 1) {
		o, err := op.options()
		if err != nil {
			return err
		}
		o.Config = op.Config
		o.Logger = op.said.of(o.Logger)
		if own, record := o.Client.Hook, op.record.Hook; own == nil {
			o.Client.Hook = record
		} else {
			o.Client.Hook = func(c client.Done) { record(c); own(c) }
		}
		if len(op.callers) > 0 {
			m := &o.Webhooks.Managed
			o.Webhooks.Addr, o.Webhooks.CertDir, m.Namespace, m.Settle = "127.0.0.1:0", op.CertDir, op.Namespace, -1
			for _, call := range op.callers {
				trusts(m, call)
			}
		}
		op.program.place(&o, op.Namespace)
		m, err := flyball.New(o)
		if err != nil {
			return err
		}
		if op.program.Add != nil {
			if err := op.program.Add(m); err != nil {
				return err
			}
		}
		op.Replicas = append(op.Replicas, m)
	}
	op.Manager = op.Replicas[0]
	return nil
}

// place puts a manager into a namespace.
func (p Program) place(o *flyball.Options, namespace string) {
	if p.Namespaced {
		o.Cache.Namespaces = []string{namespace}
	}
	if o.Leader != nil && o.Leader.Namespace == "" {
		own := *o.Leader
		own.Namespace = namespace
		o.Leader = &own
	}
}

func (op *Operator) apply(ctx context.Context, objs []manifest.Object) error {
	return manifest.Apply(ctx, op.Client, "operatortest", objs, nil)
}

// crds returns the CRDs among the objects, without conversion by webhook.
func crds(objs []manifest.Object) []manifest.Object {
	return slices.DeleteFunc(manifest.WithoutCalls(objs), func(o manifest.Object) bool { return !manifest.IsCRD(o) })
}

// isCaller reports whether an object makes the API server call the operator.
func isCaller(o manifest.Object) bool {
	return len(manifest.WithoutCalls([]manifest.Object{o})) == 0 || manifest.IsCRD(o) && manifest.Converts(o)
}

// connect makes the API server call the operator. It returns when all replicas are ready and the
// calls arrive.
func (op *Operator) connect(ctx context.Context, t testing.TB) error {
	if len(op.callers) > 0 {
		t.Cleanup(func() { op.removeCallers(t, op.callers) })
		callers := op.callers
		if op.service != nil {
			callers = manifest.ByURL(callers, op.service.url())
		}
		if err := op.apply(ctx, callers); err != nil {
			return err
		}
	}
	if err := op.ready(ctx); err != nil {
		return err
	}
	return op.barrier(ctx, op.callers)
}

// ready returns when all replicas are ready, or the webhooks of Run listen.
func (op *Operator) ready(ctx context.Context) error {
	if op.program.Run != nil {
		return op.listening(ctx)
	}
	return until(ctx, func() error {
		var errs []error
		for _, m := range op.Replicas {
			errs = append(errs, m.Ready().Err(ctx))
		}
		return errors.Join(errs...)
	})
}

// removeCallers removes the objects that make the API server call the operator, since the operator
// ends.
func (op *Operator) removeCallers(t testing.TB, calls []manifest.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), op.program.Bound)
	defer cancel()
	for _, o := range calls {
		var err error
		if manifest.IsCRD(o) {
			// An apply would conflict: another manager owns the CA in it.
			_, err = client.Patch(ctx, op.Client, o, client.MergePatch(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
		} else {
			err = manifest.Delete(ctx, op.Client, []manifest.Object{o}, nil)
		}
		if err != nil {
			t.Errorf("operatortest: %v", err)
		}
	}
}

// until returns nil when ok returns nil, or the last error of ok when ctx ends.
func until(ctx context.Context, ok func() error) error {
	wait := backoff.Backoff{Policy: backoff.Policy{Base: 5 * time.Millisecond, Max: 200 * time.Millisecond}}
	for {
		err := ok()
		if err == nil || run.Sleep(ctx, wait.Fail(time.Now())) != nil {
			return err
		}
	}
}

// run runs the replicas until end is called.
func (op *Operator) run(t testing.TB) {
	if op.service != nil {
		op.service.setReplicas(op.Replicas)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, max(len(op.Replicas), 1))
	if op.program.Run != nil {
		go func() { ended <- op.program.Run(ctx, op) }()
	}
	for _, m := range op.Replicas {
		go func() { ended <- m.Run(ctx) }()
	}
	op.stop = func() error {
		cancel()
		var errs []error
		for range cap(ended) {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
}

// end ends the replicas.
func (op *Operator) end(t testing.TB) {
	if err := op.stop(); err != nil {
		t.Errorf("operatortest: the operator ended with: %v", err)
	}
	op.stop = func() error { return nil }
}

// read reads the given folders of the manifests, as far as they exist.
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

// Samples creates the objects in the folder "samples" and deletes them at the end of the test.
// Objects without a namespace go into the test's namespace. The test fails for an object that is
// not accepted, also by its webhooks, or is not served in the version in which it is written.
func (op *Operator) Samples(t testing.TB) {
	t.Helper()
	objs, err := op.read("samples")
	if err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), op.program.Bound)
	defer cancel()
	for _, o := range objs {
		op.setNamespace(o)
		made, err := client.Create(ctx, op.Client, o)
		if err != nil {
			t.Errorf("sample %s: %v", manifest.Name(o), err)
			continue
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), op.program.Bound)
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

// setNamespace puts an object of a namespaced kind into the test's namespace, unless it has a
// namespace.
func (op *Operator) setNamespace(o manifest.Object) {
	if o.GetNamespace() != "" {
		return
	}
	gvk := o.GroupVersionKind()
	if m, err := op.Client.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version); err == nil && m.Scope.Name() == "namespace" {
		o.SetNamespace(op.Namespace)
	}
}
