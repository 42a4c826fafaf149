package clientgo_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

// The stock informers work against an API server in memory inside a bubble: they sync, get events, and outlive
// an hour of watches that end, in no time.
func TestStockInformersInABubble(t *testing.T) {
	tier.NotShort(t, "runs the rules of Kubernetes in a process of its own")
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		s := apiserver.Start(t, apiserver.Options{InMemory: true})
		httpClient, err := rest.HTTPClientFor(s.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer httpClient.CloseIdleConnections()
		c, err := kubernetes.NewForConfigAndClient(s.RESTConfig(), httpClient)
		if err != nil {
			t.Fatal(err)
		}
		maps := c.CoreV1().ConfigMaps("default")
		put := func(name string) {
			t.Helper()
			if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		put("a")
		factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace("default"))
		informer := factory.Core().V1().ConfigMaps().Informer()
		var seen []string // by one goroutine; read when all wait
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { seen = append(seen, "add "+o.(*corev1.ConfigMap).Name) },
			DeleteFunc: func(o any) { seen = append(seen, "delete "+o.(*corev1.ConfigMap).Name) },
		}); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		check := func(want string) {
			t.Helper()
			time.Sleep(time.Minute) // virtual: after the pauses of the informer
			synctest.Wait()
			if got := fmt.Sprint(seen); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			seen = nil
		}
		check("[add a]")
		time.Sleep(time.Hour)
		put("b")
		check("[add b]")
		s.Restart()
		if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		check("[delete a]")
		close(stop)
		factory.Shutdown()
	})
}
