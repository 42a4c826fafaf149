package clientgo_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/flyball-io/flyball/adapter/bridge"
	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/internal/testobj"
)

// How does my program take the packed cache? Only the constructor of the factory is another one.
func Example() {
	cfg, stop := cluster("web", "db")
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory, err := clientgo.NewSharedInformerFactory(cfg, 30*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := factory.Core().V1().Pods()
	handle, err := pods.Informer().AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { fmt.Println("handler:", o.(*corev1.Pod).Name) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer cancel()
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		fmt.Println(err)
		return
	}
	toolscache.WaitFor(ctx, "", handle.HasSyncedChecker())
	all, err := pods.Lister().Pods("default").List(labels.SelectorFromSet(labels.Set{"app": "web"}))
	for _, p := range all {
		fmt.Println("lister:", p.Name, err)
	}
	// Unordered output:
	// handler: db
	// handler: web
	// lister: web <nil>
}

// Why is my List empty? A lister cannot say that nothing was read yet. Readable can.
func ExampleReadable() {
	cfg, stop := cluster("web")
	defer stop()
	factory, err := clientgo.NewSharedInformerFactory(cfg, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := factory.Core().V1().Pods()
	all, err := pods.Lister().List(labels.Everything())
	fmt.Println(len(all), err)
	fmt.Println(clientgo.Readable(pods.Informer()))
	// Output:
	// 0 <nil>
	// clientgo: informer of /v1, Kind=Pod: the informer has not been started
}

// cluster is a server with some Pods, each with its name as label app.
func cluster(names ...string) (cfg *rest.Config, stop func()) {
	source := fcache.NewFakeControllerSource()
	for _, name := range names {
		source.Add(testobj.Pod("default/"+name, testobj.UID(types.UID(name)), testobj.Labels("app="+name)))
	}
	return bridge.Pods(source), source.Shutdown
}

// notRoot leaves out the ConfigMap that every namespace has.
var notRoot = fields.OneTermNotEqualSelector("metadata.name", "kube-root-ca.crt")
