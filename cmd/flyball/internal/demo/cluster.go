package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/test/plane"
)

const (
	// closing bounds the clean-up after a request to stop.
	closing = 3 * time.Second
	// emptying bounds the wait for the namespace's deletion if nobody waits for the program.
	emptying = time.Minute
	// admission bounds the time until a new namespace admits Pods.
	admission = 30 * time.Second
)

// cluster is the place of the story: a namespace.
type cluster struct {
	config    *rest.Config
	client    *client.Live // of the story, not of podscaler
	namespace string
	progress  io.Writer
	plane     *plane.Plane      // nil: another cluster
	memory    *apiserver.Server // nil: another cluster
	steady    *steady           // with memory
	made      bool              // this program made the namespace
}

// open starts a server or a control plane, or connects to the user's cluster, and makes a namespace.
func open(ctx context.Context, o Options) (c *cluster, err error) {
	c = &cluster{progress: o.Progress}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	begun := time.Now()
	switch {
	case o.Kubeconfig != "":
		if c.config, err = client.Config(client.ConfigOptions{Kubeconfig: o.Kubeconfig}); err != nil {
			return c, err
		}
	case o.Real:
		fmt.Fprintln(o.Progress, "controlplane: starting etcd, Kubernetes and kwok on this machine")
		if c.plane, err = plane.Start(ctx, plane.Options{Progress: o.Progress}); err != nil {
			return c, err
		}
		fmt.Fprintf(o.Progress, "controlplane: ready after %.1fs at %s\n", time.Since(begun).Seconds(), c.plane.URL())
		c.config = c.plane.RESTConfig()
	default:
		fmt.Fprintln(o.Progress, "apiserver: starting an API server in memory on this machine")
		c.steady = &steady{after: o.after}
		if c.memory, err = apiserver.New(ctx, apiserver.Options{Controllers: []string{"*", "-events", "-volumes"}, Now: c.steady.Now, Seed: "demo", Progress: o.Progress}); err != nil {
			return c, err
		}
		c.steady.server = c.memory
		fmt.Fprintf(o.Progress, "apiserver: ready after %.1fs at %s\n", time.Since(begun).Seconds(), c.memory.URL())
		c.config = c.steady.config("podscaler")
	}
	own := c.config
	if c.steady != nil {
		own = c.steady.config("flyball-demo")
	}
	if c.client, err = client.New(own, client.Options{FieldOwner: "flyball-demo"}); err != nil {
		return c, err
	}
	if err := c.client.Check(ctx); err != nil {
		return c, err
	}
	return c, c.prepare(ctx)
}

// prepare makes the namespace, and waits until Pods can be created in it.
func (c *cluster) prepare(ctx context.Context) error {
	ns, err := client.Create(ctx, c.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "flyball-demo-"}})
	if err != nil {
		return err
	}
	c.namespace, c.made = ns.Name, true
	if c.steady != nil {
		c.steady.in(ns.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, admission)
	defer cancel()
	w, err := client.Watch[corev1.ServiceAccount](ctx, c.client, client.InNamespace(ns.Name), client.MatchingFields{"metadata.name": "default"})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			return fmt.Errorf("the default service account of namespace %s: %w", ns.Name, err)
		}
		if e.Object != nil {
			break
		}
	}
	return nil
}

// watch fails when the control plane ends.
func (c *cluster) watch(ctx context.Context) error {
	if c.plane == nil {
		return nil
	}
	select {
	case <-c.plane.Done():
		return c.plane.Err()
	case <-ctx.Done():
		return nil
	}
}

// close removes everything that was made: the whole server or control plane, or the namespace in the
// user's cluster.
func (c *cluster) close(ctx context.Context) error {
	if c.client != nil {
		defer c.client.Close()
	}
	var err error
	switch {
	case c.plane != nil:
		c.plane.Kill() // its data is not needed any more
		err = c.plane.Close()
	case c.memory != nil:
		err = c.memory.Close()
	case c.made:
		err = c.remove(ctx)
	}
	return err
}

// remove deletes the namespace and waits for its end, but only shortly if ctx has ended.
func (c *cluster) remove(asked context.Context) error {
	ctx, cancel := context.WithTimeout(context.Background(), emptying)
	defer cancel()
	defer context.AfterFunc(asked, func() {
		timer := time.AfterFunc(closing, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})()
	w, err := client.Watch[corev1.Namespace](ctx, c.client, client.MatchingFields{"metadata.name": c.namespace})
	if err == nil {
		defer w.Stop()
		err = client.Delete(ctx, c.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}})
	}
	if err != nil {
		return fmt.Errorf("namespace %s is left: %w", c.namespace, err)
	}
	for e, err := range w.Events() {
		if err != nil {
			break
		}
		if e.Type == watch.Deleted {
			return nil
		}
	}
	fmt.Fprintf(c.progress, "namespace %s is being deleted\n", c.namespace)
	return nil
}
