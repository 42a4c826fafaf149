package ctrlcache_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/test/servertest"
)

// A controller that owns ConfigMaps keeps one for each, through the packed cache.
func TestControllerReconciles(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	mgr := newManager(t)
	c := mgr.GetClient()
	err := ctrl.NewControllerManagedBy(mgr).For(&corev1.Secret{}).Owns(&corev1.ConfigMap{}).
		Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			var secret corev1.Secret
			if err := c.Get(ctx, req.NamespacedName, &secret); err != nil {
				return ctrl.Result{}, crclient.IgnoreNotFound(err)
			}
			if req.Namespace != ns || secret.Kind != "Secret" {
				return ctrl.Result{}, nil
			}
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "child-of-" + req.Name}}
			_, err := controllerutil.CreateOrUpdate(ctx, c, child, func() error {
				child.Data = map[string]string{"size": fmt.Sprint(len(secret.Data))}
				return controllerutil.SetControllerReference(&secret, child, mgr.GetScheme())
			})
			return ctrl.Result{}, err
		}))
	must(t, err)
	if _, ok := mgr.GetCache().(*ctrlcache.Cache); !ok {
		t.Fatalf("the cache is a %T", mgr.GetCache())
	}
	run(t, mgr.Start)
	ctx, direct := bounded(t), live(t)
	watching, err := crclient.NewWithWatch(config(t), crclient.Options{})
	must(t, err)
	w, err := watching.Watch(ctx, &corev1.ConfigMapList{}, crclient.InNamespace(ns))
	must(t, err)
	defer w.Stop()
	for i := range 5 {
		must(t, direct.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("s", i)}, Data: map[string][]byte{"a": {1}}}))
	}
	made := map[string][]*corev1.ConfigMap{}
	child := func(i, nth int) *corev1.ConfigMap { // waits until the controller has made it so often
		name := fmt.Sprint("child-of-s", i)
		for len(made[name]) < nth {
			e, ok := <-w.ResultChan()
			if !ok {
				t.Fatalf("the watch has ended, and %s was made %d times", name, len(made[name]))
			}
			if cm, ok := e.Object.(*corev1.ConfigMap); ok && e.Type == apiwatch.Added {
				made[cm.Name] = append(made[cm.Name], cm)
			}
		}
		return made[name][nth-1]
	}
	for i := range 5 {
		was := child(i, 1)
		must(t, direct.Delete(ctx, was)) // the controller makes it anew
		if is := child(i, 2); is.UID == was.UID {
			t.Errorf("%s is the old one", is.Name)
		}
	}
}

// A client with EnableReadYourWritesConsistency never waits in vain, however fast objects of one name come and
// go: each UID has its delete.
func TestReadYourWrites(t *testing.T) {
	rounds := 15
	if os.Getenv("FLYBALL_LONG") != "" {
		rounds = 5000
	}
	readYourWrites(t, rounds)
}

// minorOfControllerRuntime asks the go command, since test binaries do not know their modules.
func minorOfControllerRuntime(t *testing.T) (minor int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/controller-runtime").Output()
	if err == nil {
		_, err = fmt.Sscanf(string(out), "v0.%d.", &minor)
	}
	if err != nil {
		t.Fatalf("the version of controller-runtime: %q, %v", out, err)
	}
	return minor
}

func readYourWrites(t *testing.T, rounds int) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	on := true
	o := &crclient.CacheOptions{}
	if enabled := reflect.ValueOf(o).Elem().FieldByName("EnableReadYourWritesConsistency"); enabled.IsValid() {
		enabled.Set(reflect.ValueOf(&on))
	} else if minor := minorOfControllerRuntime(t); minor >= 25 {
		t.Fatalf("CacheOptions of controller-runtime v0.%d has no EnableReadYourWritesConsistency, which v0.25 has", minor)
	} // An older one goes through the same rounds without it.
	mgr := newManager(t, func(m *ctrl.Options) { m.Client.Cache = o })
	run(t, mgr.Start)
	c := mgr.GetClient()
	for _, shared := range []bool{true, false} {
		for round := range rounds {
			var wait sync.WaitGroup
			for worker := range 8 {
				name := fmt.Sprint("one-", round)
				if !shared {
					name = fmt.Sprintf("own-%d-%d", round, worker)
				}
				wait.Go(func() {
					for range 3 {
						cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
						if err := c.Create(t.Context(), cm); err != nil {
							if !apierrors.IsAlreadyExists(err) {
								t.Error(err)
							}
							continue
						}
						if err := c.Delete(t.Context(), cm); err != nil {
							t.Error(err)
						}
					}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					err := c.Get(ctx, crclient.ObjectKey{Namespace: ns, Name: name}, &corev1.ConfigMap{})
					if err != nil && !apierrors.IsNotFound(err) {
						t.Errorf("round %d: hung: %v", round, err)
					}
				})
			}
			wait.Wait()
		}
	}
}
