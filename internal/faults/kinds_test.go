package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// custom returns a kind that only this test uses.
func custom(plural, kind string) (schema.GroupVersionKind, *unstructured.Unstructured) {
	const group = "faults.flyball.test"
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	return gvk, testobj.CRD(gvk, plural)
}

func instance(gvk schema.GroupVersionKind, ns, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		u.Object["spec"] = spec
	}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(ns)
	u.SetName(name)
	return u
}

// define creates a CRD and returns when the server serves the kind.
func define(r *rig, gvk schema.GroupVersionKind, crd *unstructured.Unstructured) {
	r.Helper()
	_, err := client.Create(r.Context(), r.direct, crd.DeepCopy())
	must(r.T, err)
	r.Cleanup(func() {
		client.Delete(context.Background(), r.direct, crd) // or it is deleted already
	})
	served(r, gvk)
}

// served returns when a list of the kind succeeds.
func served(r *rig, gvk schema.GroupVersionKind) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), hung)
	defer cancel()
	var failed error
	ok := newChanges().await(ctx, func() bool {
		failed = nil
		for _, failed = range client.List[unstructured.Unstructured](ctx, r.direct, client.OfKind(gvk), client.InNamespace(r.ns)) {
			if failed != nil {
				break
			}
		}
		return failed == nil
	})
	if !ok {
		r.Fatalf("%s is not served: %v", gvk, failed)
	}
}

// A CRD is deleted while its kind is watched, and is created again.
func TestFault23CRDDeletedAndCreatedAgain(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		gvk, crd := custom("comets", "Comet")
		proto := instance(gvk, "", "", nil)
		absent := span(30*time.Second, time.Second)
		book := ledger.New()
		told, reconciled := book.View("comets told"), book.View("comets reconciled")
		var comets *cache.Handle
		g, r := behind(t, p, setup{
			tune: func(c *reflector.Options) { c.Absent = absent },
			also: func(r *rig) {
				define(r, gvk, crd)
				var err error
				comets, err = r.mgr.Cache().Open(t.Context(), proto, client.Selection{})
				must(t, err)
				_, err = comets.Informer().Subscribe("comets", func(c store.Change) {
					if c.New == nil {
						told.Gone(c.Key)
						return
					}
					told.SawHeader(c.New.Header())
				})
				must(t, err)
				_, err = controller.New(r.mgr, "comets", func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
					o, err := client.Get[unstructured.Unstructured](ctx, r.mgr.Client(), req, client.OfKind(gvk))
					if client.IgnoreNotFound(err) != nil {
						return reconcile.Result{}, err
					}
					if err != nil {
						reconciled.Gone(req)
					} else {
						reconciled.Saw(o)
					}
					return reconcile.Result{}, nil
				}, controller.ForKind[unstructured.Unstructured](gvk))
				must(t, err)
			},
		})
		wait := func(what string) {
			t.Helper()
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errLate)
			defer cancel()
			if err := book.Wait(ctx); err != nil {
				t.Fatalf("%s: %v\n%v", what, err, comets.Informer().State())
			}
		}
		phase := func(p reflector.Phase) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), hung)
			defer cancel()
			if !r.state.await(ctx, func() bool { return comets.Informer().State().Watch.Phase == p }) {
				t.Fatalf("not %v: %v", p, comets.Informer().State())
			}
		}
		for round := range 2 {
			var made []*unstructured.Unstructured
			for i := range 5 {
				o, err := client.Create(t.Context(), r.direct, instance(gvk, r.ns, fmt.Sprintf("c%d", i), map[string]any{"round": int64(round)}))
				must(t, err)
				book.Wrote(o)
				made = append(made, o)
			}
			wait("made")
			pass(t.Context(), time.Second) // the definition is read beside the watch; one that was not read proves nothing
			must(t, client.Delete(t.Context(), r.direct, crd))
			for _, o := range made {
				book.Deleted(object.KeyOf(o), o.GetUID())
			}
			wait("deleted with the CRD")
			phase(reflector.NotFound)
			gone := time.Now()
			g.Seen()
			r.during(func() {
				pass(t.Context(), 3*absent+absent/2)
			})
			probes := map[string]int{}
			for _, a := range g.Seen() {
				if !strings.HasSuffix(a.Path, "/configmaps") {
					probes[a.Path]++
				}
			}
			for path, n := range probes {
				if n > 1+int(time.Since(gone)/absent) {
					t.Errorf("%s was asked for %d times in %v, with %v between two", path, n, time.Since(gone), absent)
				}
			}
			t.Logf("in %v: %v", time.Since(gone).Round(time.Millisecond), probes)
			_, err := client.Create(t.Context(), r.direct, crd.DeepCopy())
			must(t, err)
			phase(reflector.Synced)
			served(r, gvk)
		}
		r.nothingLost()
	})
}

// The program may not read one kind. It reports that within seconds, and the other kinds run. Once
// the permission is granted, the kind starts by itself.
func TestFault26Forbidden(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		user := "limited-" + fmt.Sprint(time.Now().UnixNano())
		cfg, err := p.UserConfig(user)
		must(t, err)
		done := make(chan struct{}, 100)
		var secrets *controller.Controller[reconcile.Request]
		r := start(t, p, setup{
			config: cfg,
			tune:   func(c *reflector.Options) { c.Absent = span(30*time.Second, time.Second) },
			also: func(r *rig) {
				grant(r, user, "configmaps")
				var err error
				secrets, err = controller.New(r.mgr, "secrets", func(context.Context, reconcile.Request) (reconcile.Result, error) {
					done <- struct{}{}
					return reconcile.Result{}, nil
				}, controller.For[corev1.Secret]())
				must(t, err)
			},
		})
		soon, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if !r.state.await(soon, func() bool { return secrets.State().Err != nil }) {
			t.Fatal("nothing is said for five minutes")
		}
		err = secrets.State().Err
		forbidden, ok := errors.AsType[*client.ForbiddenError](err)
		if !ok || forbidden.Resource.Resource != "secrets" || forbidden.Verb == "" || forbidden.Key.Namespace != r.ns {
			t.Errorf("%v", err)
		}
		for _, word := range []string{`"secrets"`, "For(Secret)", forbidden.Verb, "secrets", r.ns, user} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%v does not name %s", err, word)
			}
		}
		if s := secrets.State(); s.Phase != controller.Syncing {
			t.Errorf("the controller is %v", s.Phase)
		}
		r.churn(40)
		r.nothingLost()

		_, err = client.Create(t.Context(), r.direct, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "s"}})
		must(t, err)
		grant(r, user, "secrets")
		late, stop := context.WithTimeout(t.Context(), hung)
		defer stop()
		select {
		case <-done:
		case <-late.Done():
			t.Errorf("not started since it is allowed: %+v", secrets.State())
		}
		if s := secrets.State(); s.Err != nil {
			t.Errorf("%v", s.Err)
		}
	})
}

// The permission to read a kind is revoked while it is watched, and granted again.
func TestFault26Revoked(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		user := "revoked-" + fmt.Sprint(time.Now().UnixNano())
		user0, err := p.UserConfig(user)
		must(t, err)
		proxy, cfg := proxied(t, p)
		user0.Host = cfg.Host
		r := start(t, p, setup{
			config: user0,
			tune:   func(c *reflector.Options) { steady(c); c.Absent = span(30*time.Second, time.Second) },
			also:   func(r *rig) { grant(r, user, "configmaps") },
		})
		for range 2 {
			must(t, client.Delete(t.Context(), r.direct, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "configmaps"}}))
			r.revoked(proxy, user)
			r.churn(40)
			must(t, client.Delete(t.Context(), r.direct, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "configmaps"}}))
			grant(r, user, "configmaps")
			r.nothingLost()
		}
		if n := len(r.watch().Relists); n != 1 {
			t.Errorf("lists: %v", r.watch().Relists)
		}
	})
}

// revoked breaks the connection until the server rejects the next one. The server learns of roles
// by a watch of its own.
func (r *rig) revoked(proxy *faults.Proxy, user string) {
	r.Helper()
	for r.watch().Phase != reflector.Forbidden {
		broken := r.watch().Restarts["broken"]
		proxy.Reset()
		r.await("a break", func(s reflector.State) bool {
			return s.Phase == reflector.Forbidden || s.Restarts["broken"] > broken && s.Phase == reflector.Synced
		})
	}
	if err := r.watch().Err; err == nil || !strings.Contains(err.Error(), user) {
		r.Errorf("%v does not name %s", err, user)
	}
}

// grant lets a user read a resource in the rig's namespace.
func grant(r *rig, user, resource string) {
	r.Helper()
	_, err := client.Create(r.Context(), r.direct, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: resource},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch"}}},
	})
	must(r.T, err)
	_, err = client.Create(r.Context(), r.direct, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: resource},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: resource},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: "rbac.authorization.k8s.io"}},
	})
	must(r.T, err)
}
