package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// A call that asks for something impossible returns a typed error that names the fault. Everything
// else continues.
func TestBadCallsAreTypedErrors(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		byValue := func(o *corev1.ConfigMap) []string { return []string{o.Data["i"]} }
		r := start(t, p, setup{also: func(r *rig) {
			must(t, cache.IndexField(r.mgr.Cache(), "value", byValue))
		}})
		ctx, mgr := t.Context(), r.mgr
		c := mgr.Client()
		good := func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		}
		forMaps := controller.For[corev1.ConfigMap]()
		listed := func(from client.Reader, opts ...client.ListOption) error {
			for _, err := range client.List[corev1.ConfigMap](ctx, from, append(opts, client.InNamespace(r.ns))...) {
				return err
			}
			return nil
		}
		got := func(from client.Reader, ns, name string) error {
			_, err := client.Get[corev1.ConfigMap](ctx, from, object.Key{Namespace: ns, Name: name})
			return err
		}
		created := func(o *corev1.ConfigMap) error { _, err := client.Create(ctx, c, o); return err }
		named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: r.ns, Name: name} }
		add := func(name string, rec reconcile.Reconciler[reconcile.Request], sources ...controller.Source[reconcile.Request]) error {
			_, err := controller.New(mgr, name, rec, sources...)
			return err
		}
		for _, tc := range []struct {
			name string
			err  error
			is   func(error) bool
			says []string
		}{
			{"no reconciler", add("orders", nil, forMaps), is[*option.Error], []string{`"orders"`, "reconciler is nil"}},
			{"no name", add("", good, forMaps), is[*option.Error], []string{"no name"}},
			{"a name that is taken", add("rig", good, forMaps), is[*flyball.DuplicateNameError], []string{`"rig"`}},
			{"no For", add("orders", good, controller.Owns[corev1.Pod]()), is[*option.Error], []string{`"orders"`, "For is missing"}},
			{"no source", add("orders", good), is[*option.Error], []string{`"orders"`, "For is missing"}},
			{"two For", add("orders", good, forMaps, controller.For[corev1.Pod]()), is[*option.Error], []string{`"orders"`, "Pod", "given twice"}},
			{"an index added twice", cache.IndexField(mgr.Cache(), "value", byValue), is[*store.IndexExistsError], []string{`"value"`}},
			{"an index that is unknown", listed(c, client.MatchingFields{"size": "1"}), is[*store.UnknownIndexError], []string{`"size"`}},
			{"a label selector that does not parse", listed(c, client.LabelSelector("a in (")), is[*client.ArgumentError], []string{"a in ("}},
			{"the same, live", listed(mgr.Live(), client.LabelSelector("a in (")), is[*client.ArgumentError], []string{"a in ("}},
			{"a field selector that does not parse", listed(c, client.FieldSelector("a~b")), is[*client.ArgumentError], []string{"a~b"}},
			{"a field selector that is not exact", listed(c, client.FieldSelector("value!=1")), func(err error) bool { return err != nil }, []string{"value"}},
			{"an empty key", got(c, r.ns, ""), func(err error) bool { return err != nil }, nil},
			{"an empty key, live", got(mgr.Live(), r.ns, ""), is[*client.ArgumentError], []string{"ConfigMap"}},
			{"a name that is no UTF-8, live", got(mgr.Live(), r.ns, "x\xff"), is[*client.ArgumentError], []string{`\xff`}},
			{"a name with a slash, live", got(mgr.Live(), r.ns, "../secrets/s"), is[*client.ArgumentError], []string{"../secrets/s"}},
			{"another namespace than the cache has", got(c, "elsewhere", "x"), is[*informer.NamespaceError], []string{"elsewhere"}},
			{"a label that is no UTF-8", created(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "x", Labels: map[string]string{"a": "\xff"}}}),
				is[*client.ArgumentError], []string{"Labels[a]"}},
			{"a body that is no UTF-8", created(&corev1.ConfigMap{ObjectMeta: named("x"), Data: map[string]string{"a": "\xff"}}),
				is[*client.ArgumentError], []string{"Data[a]"}},
			{"a kind that nobody knows", openErr(ctx, mgr), is[*object.UnknownKindError], []string{"Gauge"}},
			{"nil", created(nil), func(err error) bool { return err != nil }, nil},
		} {
			part(t, tc.name, func(t *testing.T) {
				if tc.err == nil || !tc.is(tc.err) {
					t.Fatalf("%T %v", tc.err, tc.err)
				}
				for _, word := range tc.says {
					if !strings.Contains(tc.err.Error(), word) {
						t.Errorf("%q does not name %s", tc.err, word)
					}
				}
			})
		}
		// A read of a kind that is not open is an error of the cache; the client reads it from the
		// server.
		_, err := client.Get[appsv1.Deployment](ctx, mgr.Cache(), object.Key{Namespace: r.ns, Name: "d"})
		if _, ok := errors.AsType[*cache.UndeclaredError](err); !ok || !strings.Contains(err.Error(), "Deployment") {
			t.Errorf("%v", err)
		}
		// Before the first run, a read is an error, not an empty answer.
		idle, err := flyball.New(flyball.Options{Config: p.RESTConfig(), Name: "idle", SyncTimeout: time.Second})
		must(t, err)
		defer idle.Live().Close()
		_, err = controller.New(idle, "c", good, forMaps)
		must(t, err)
		r.churn(20)
		r.nothingLost()
	})
}

func openErr(ctx context.Context, mgr *flyball.Manager) error {
	_, err := mgr.Cache().Open(ctx, &Gauge{}, client.Selection{})
	return err
}
