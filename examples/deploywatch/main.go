// Command deploywatch follows the Deployments of one namespace and selector through a filtered
// factory: it prints what is added, updated and deleted, as the lister has it by then.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config, or the Pod's own account)")
	namespace := flag.String("namespace", cmp.Or(os.Getenv("MY_NAMESPACE"), "default"), "`namespace` to watch")
	selector := labels.Everything()
	flag.Func("selector", "label `selector`, such as app=web,tier!=test (default: every Deployment)", func(text string) (err error) {
		selector, err = labels.Parse(text)
		return err
	})
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "deploywatch: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx := flyball.SignalContext()
	c, err := client.Dial(ctx, client.ConfigOptions{Kubeconfig: *kubeconfig}, client.Options{})
	if err == nil {
		err = watch(ctx, c, client.Selection{Namespace: *namespace, Labels: selector}, os.Stdout)
	}
	if err != nil && !errors.Is(err, context.Cause(ctx)) {
		fmt.Fprintln(os.Stderr, "deploywatch:", err)
		os.Exit(1)
	}
}

// watch prints what happens to the Deployments of a selection until ctx ends, and returns why.
func watch(ctx context.Context, c *client.Live, what client.Selection, out io.Writer) error {
	objects, err := cache.New(cache.Connect(c), cache.Options{Namespaces: []string{what.Namespace}, Labels: what.Labels})
	if err != nil {
		return err
	}
	deployments, err := cache.Open[appsv1.Deployment](ctx, objects)
	if err != nil {
		return err
	}
	report := func(what string, key object.Key) {
		d, err := deployments.Lister().Get(key)
		switch {
		case apierrors.IsNotFound(err):
			fmt.Fprintf(out, "%-7s %s, which is gone by now\n", what, key)
		case err != nil:
			fmt.Fprintf(out, "%-7s %s: %v\n", what, key, err)
		default:
			fmt.Fprintf(out, "%-7s %s: %d of %d replicas ready\n", what, key, d.Status.ReadyReplicas, d.Status.Replicas)
		}
	}
	// The handler is called on one goroutine, so that lines do not mix.
	_, err = deployments.AddHandler(informer.Handler[appsv1.Deployment]{
		OnAdd:    func(d *appsv1.Deployment, _ bool) { report("added", object.KeyOf(d)) },
		OnUpdate: func(_, d *appsv1.Deployment) { report("updated", object.KeyOf(d)) },
		OnDelete: func(d *appsv1.Deployment, _ bool) { fmt.Fprintf(out, "%-7s %s\n", "deleted", object.KeyOf(d)) },
	})
	if err != nil {
		return err
	}
	return objects.Run(ctx)
}
