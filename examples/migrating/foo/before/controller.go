package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/examples/migrating/foo/api"
)

// controller takes the keys of Foos from a queue and makes their Deployments what they should be.
type controller struct {
	kube        kubernetes.Interface
	foos        *fooClient
	deployments appslisters.DeploymentLister
	fooLister   fooLister
	synced      []cache.InformerSynced
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	events      record.EventRecorder
}

func newController(kube kubernetes.Interface, foos *fooClient, deployments appsinformers.DeploymentInformer, fooInformer cache.SharedIndexInformer, events record.EventRecorder) (*controller, error) {
	c := &controller{
		kube: kube, foos: foos, events: events,
		deployments: deployments.Lister(), fooLister: newFooLister(fooInformer.GetIndexer()),
		synced: []cache.InformerSynced{deployments.Informer().HasSynced, fooInformer.HasSynced},
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	_, err := fooInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.addFoo,
		UpdateFunc: func(_, o any) { c.addFoo(o) },
	})
	if err != nil {
		return nil, err
	}
	_, err = deployments.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.addOwner,
		UpdateFunc: func(old, o any) {
			// A resync shows objects that have not changed.
			if old.(*appsv1.Deployment).ResourceVersion != o.(*appsv1.Deployment).ResourceVersion {
				c.addOwner(o)
			}
		},
		DeleteFunc: c.addOwner,
	})
	return c, err
}

func (c *controller) addFoo(o any) {
	key, err := cache.ObjectToName(o)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.queue.Add(key)
}

// addOwner adds the Foo that a Deployment belongs to.
func (c *controller) addOwner(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	d, ok := o.(metav1.Object)
	if !ok {
		utilruntime.HandleError(fmt.Errorf("%T is no object", o))
		return
	}
	owner := metav1.GetControllerOf(d)
	if owner == nil || owner.Kind != "Foo" {
		return
	}
	foo, err := c.fooLister.in(d.GetNamespace()).Get(owner.Name)
	if err != nil {
		return // an orphan
	}
	c.addFoo(foo)
}

// run works until ctx ends.
func (c *controller) run(ctx context.Context, workers int) error {
	defer utilruntime.HandleCrash()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return errors.New("the caches have not synced")
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	wg.Wait()
	return nil
}

// next works on one key. It returns false when the queue has ended.
func (c *controller) next(ctx context.Context) bool {
	key, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(key)
	if err := c.sync(ctx, key); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "sync failed, a retry follows", "foo", key)
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	return true
}

// sync makes the Deployment of one Foo what it should be.
func (c *controller) sync(ctx context.Context, key cache.ObjectName) error {
	foo, err := c.fooLister.in(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if foo.Spec.DeploymentName == "" {
		klog.FromContext(ctx).Info("spec.deploymentName is empty", "foo", key)
		return nil
	}
	d, err := c.deployments.Deployments(foo.Namespace).Get(foo.Spec.DeploymentName)
	if apierrors.IsNotFound(err) {
		d, err = c.kube.AppsV1().Deployments(foo.Namespace).Create(ctx, deploymentOf(foo), metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(d, foo) {
		c.events.Eventf(foo, corev1.EventTypeWarning, "ErrResourceExists", "Deployment %s is not controlled by this Foo", d.Name)
		return fmt.Errorf("deployment %s is not controlled by the Foo", d.Name)
	}
	if foo.Spec.Replicas != nil && *foo.Spec.Replicas != *d.Spec.Replicas {
		d, err = c.kube.AppsV1().Deployments(foo.Namespace).Update(ctx, deploymentOf(foo), metav1.UpdateOptions{})
		if err != nil {
			return err
		}
	}
	if foo.Status.AvailableReplicas != d.Status.AvailableReplicas {
		changed := foo.DeepCopy() // the lister's objects are shared
		changed.Status.AvailableReplicas = d.Status.AvailableReplicas
		if _, err := c.foos.in(foo.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	c.events.Event(foo, corev1.EventTypeNormal, "Synced", "the Deployment is as it should be")
	return nil
}

// deploymentOf is what the Deployment of a Foo should be.
func deploymentOf(foo *api.Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: foo.Spec.DeploymentName, Namespace: foo.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, api.GroupVersion.WithKind("Foo"))},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
}
