package flyball_test

import (
	"context"
	"log"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/reconcile"
)

// Counter writes on each Deployment how many Pods of its app run.
type Counter struct{ client client.Client }

func (c *Counter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	d, err := client.Get[appsv1.Deployment](ctx, c.client, req) // from the cache: your own copy
	if err != nil {
		return reconcile.Result{}, utilerrors.FilterOut(err, apierrors.IsNotFound) // an error comes back, with growing delay
	}
	running := 0
	for pod, err := range client.List[corev1.Pod](ctx, c.client, client.InNamespace(req.Namespace), client.MatchingLabels{"app": req.Name}) {
		if err != nil {
			return reconcile.Result{}, err
		}
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if now := strconv.Itoa(running); d.Annotations["example.org/running"] != now {
		before := d.DeepCopy()
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, "example.org/running", now)
		_, err = client.Patch(ctx, c.client, d, client.Diff(before, d))
	}
	return reconcile.Result{}, err
}

func ofApp(_ context.Context, pod *corev1.Pod) ([]reconcile.Request, error) {
	return []reconcile.Request{{Namespace: pod.Namespace, Name: pod.Labels["app"]}}, nil
}

func main() {
	mgr, err := flyball.New(flyball.Options{}) // kubeconfig, or the Pod's service account
	if err != nil {
		log.Fatal(err)
	}
	c := &Counter{mgr.Client()}
	if _, err := controller.New(mgr, "counter", c.Reconcile,
		controller.For[appsv1.Deployment](), controller.Watches[corev1.Pod](handler.Map(ofApp))); err != nil {
		log.Fatal(err)
	}
	if err := mgr.Run(flyball.SignalContext()); err != nil {
		log.Fatal(err)
	}
}

// The whole program: a reconciler, what triggers it, and the manager that runs it.
func Example() { main() }
