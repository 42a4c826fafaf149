package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
)

// cleanup keeps a deleted Guestbook until its children are gone, in order.
const cleanup = "webapp.example.com/cleanup"

// GuestbookReconciler makes the cluster what each Guestbook asks for.
type GuestbookReconciler struct {
	// Client reads from the cache and writes to the server.
	Client client.Client
	// Events tell people what was done.
	Events *event.Recorder
	// Writes counts the changes of children, by kind and change.
	Writes *prometheus.CounterVec
}

// What the controller may do. "make manifests" turns it into config/rbac/role.yaml.
// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks/status,verbs=patch
// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks/finalizers,verbs=update
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=guestbooks.webapp.example.com,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete

// Reconcile is called with the name of a Guestbook whenever it or what belongs to it has changed, and
// again after an error. It looks at how things are and does what is missing.
func (r *GuestbookReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, err := client.Get[webappv1.Guestbook](ctx, r.Client, req)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	// The Service goes first, so that nobody is sent to Pods that end.
	g, err = finalizer.Run(ctx, r.Client, g, cleanup,
		finalizer.Do("delete the Service", r.deleteService),
		finalizer.Do("delete the Deployment", r.deleteDeployment))
	if g == nil {
		return finalizer.Result(err)
	}
	g.SetDefaults()
	status := condition.Begin(g, &g.Status.Conditions)
	g.Status.ObservedGeneration = g.Generation

	d, err := r.ensure(ctx, g)
	if err != nil {
		if child.IsTaken(err) { // a person must choose another name
			r.Events.Event(g, event.Warning, "NameTaken", "Deploy", "%v", err)
			status.False("Ready", "NameTaken", "%v", err)
			err = errors.Join(err, status.Patch(ctx, r.Client))
		}
		return reconcile.Result{}, err
	}
	g.Status.Replicas, g.Status.ReadyReplicas = d.Status.Replicas, d.Status.ReadyReplicas
	g.Status.Selector = metav1.FormatLabelSelector(d.Spec.Selector)
	if deployed(d) {
		status.True("Ready", "Deployed", "all Pods answer")
	} else {
		status.False("Ready", "Deploying", "%d of %d Pods are ready", d.Status.ReadyReplicas, *g.Spec.Size)
	}
	return reconcile.Result{}, status.Patch(ctx, r.Client)
}

// ensure makes the children of a Guestbook what they should be. When they are already, it sends
// nothing; what others have changed in them by hand it takes back.
func (r *GuestbookReconciler) ensure(ctx context.Context, g *webappv1.Guestbook) (*appsv1.Deployment, error) {
	d, did, err := child.Ensure(ctx, r.Client, g, deploymentOf(g), child.Force())
	if err != nil {
		return nil, err
	}
	r.tell(g, "Deployment", did)
	_, did, err = child.Ensure(ctx, r.Client, g, serviceOf(g), child.Force())
	if err != nil {
		return nil, err
	}
	r.tell(g, "Service", did)
	return d, nil
}

// tell counts a change of a child, and tells people of it.
func (r *GuestbookReconciler) tell(g *webappv1.Guestbook, kind string, did child.Change) {
	if did == child.Unchanged {
		return
	}
	r.Writes.WithLabelValues(kind, string(did)).Inc()
	reason := map[child.Change]string{child.Created: "Created", child.Updated: "Updated"}[did]
	r.Events.Event(g, event.Normal, kind+reason, "Deploy", "%s %s", kind, did)
}

// deployed reports whether all Pods that should be there are, ready, and made of the newest template.
func deployed(d *appsv1.Deployment) bool {
	want, s := *d.Spec.Replicas, d.Status
	return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == want && s.ReadyReplicas == want && s.Replicas == want
}

func (r *GuestbookReconciler) deleteService(ctx context.Context, g *webappv1.Guestbook) error {
	return deleteChildren[corev1.Service](ctx, r.Client, g)
}

func (r *GuestbookReconciler) deleteDeployment(ctx context.Context, g *webappv1.Guestbook) error {
	return deleteChildren[appsv1.Deployment](ctx, r.Client, g)
}

// deleteChildren deletes all children of one kind.
func deleteChildren[T any, P object.Ptr[T]](ctx context.Context, c client.Client, g *webappv1.Guestbook) error {
	_, err := child.Prune(ctx, c, g, func(P) bool { return false })
	return err
}

// AddGuestbook adds the controller to the manager.
func AddGuestbook(mgr *flyball.Manager) error {
	r := &GuestbookReconciler{
		Client: mgr.Client(),
		Events: mgr.Events(),
		Writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "guestbook_child_writes_total",
			Help: "Deployments and Services that were created or updated.",
		}, []string{"kind", "change"}),
	}
	if err := mgr.Metrics().Register(r.Writes); err != nil {
		return fmt.Errorf("metrics of the guestbook: %w", err)
	}
	_, err := controller.New(mgr, "guestbook", r.Reconcile,
		controller.For[webappv1.Guestbook](),
		controller.Owns[appsv1.Deployment](),
		controller.Owns[corev1.Service](),
	)
	return err
}
