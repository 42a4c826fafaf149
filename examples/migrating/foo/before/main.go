// Command before keeps a Deployment for each Foo. It is written with client-go: a clientset, shared
// informers, listers, a work queue and an event broadcaster.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/examples/migrating/foo/api"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "file with the cluster")
	packed := flag.Bool("packed-cache", false, "hold the caches packed, the first step of a move")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		err = run(ctx, cfg, *packed)
	}
	if err != nil {
		klog.ErrorS(err, "foo")
		os.Exit(1)
	}
}

// run runs the program until ctx ends.
func run(ctx context.Context, cfg *rest.Config, packed bool) error {
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, api.AddToScheme} {
		if err := add(types); err != nil {
			return err
		}
	}
	foos, err := newFooClient(cfg, types)
	if err != nil {
		return err
	}

	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	defer events.Shutdown()

	factory := informers.NewSharedInformerFactory(kube, 30*time.Second)
	fooInformer := newFooInformer(foos, 30*time.Second)
	if packed {
		if factory, err = clientgo.NewSharedInformerFactory(cfg, 30*time.Second); err != nil {
			return err
		}
		fooInformer, err = clientgo.NewSharedIndexInformer(cfg, &api.Foo{}, 30*time.Second, fooIndexers, clientgo.WithScheme(types))
		if err != nil {
			return err
		}
	}
	c, err := newController(kube, foos, factory.Apps().V1().Deployments(), fooInformer,
		events.NewRecorder(types, corev1.EventSource{Component: "foo"}))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go fooInformer.RunWithContext(ctx)
	err = c.run(ctx, 2)
	factory.Shutdown()
	return err
}
