package clientgo_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

// After each fault the stock informer has what the server has, and virtual time goes on during the fault.
func TestStockInformersAfterFaults(t *testing.T) {
	tier.NotShort(t, "runs the rules of Kubernetes in a process of its own")
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	// The default handlers limit errors by the time of the last one, which is not that of the bubble.
	defer func(old []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = old }(utilruntime.ErrorHandlers)
	utilruntime.ErrorHandlers = nil
	for _, effect := range []apiserver.Effect{
		apiserver.Error(metav1.StatusReasonExpired), apiserver.TooLargeVersion, apiserver.Error(metav1.StatusReasonGone), apiserver.Error(metav1.StatusReasonUnauthorized), apiserver.Error(metav1.StatusReasonInternalError), apiserver.BadGateway, apiserver.TooManyRequests(time.Second),
		apiserver.CutBefore, apiserver.LoseAnswer, apiserver.Hang, apiserver.Restart, apiserver.Delay(time.Minute),
		apiserver.EndAfter(0), apiserver.EndAfter(2), apiserver.CutAfter(1), apiserver.CutFrame(1), apiserver.ExpireAfter(0), apiserver.ExpireAfter(2), apiserver.SilentAfter(0),
		apiserver.RepeatEvents(1, 0), apiserver.DelayEvents(time.Minute), apiserver.LoseBookmarks, apiserver.Ignore("sendInitialEvents"),
	} {
		for _, tls := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, TLS %v", effect, tls), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { afterFault(t, effect, tls) })
			})
		}
	}
}

func afterFault(t *testing.T, effect apiserver.Effect, tls bool) {
	s := apiserver.Start(t, apiserver.Options{InMemory: true, TLS: tls})
	client, err := rest.HTTPClientFor(s.RESTConfig())
	must(t, err)
	defer client.CloseIdleConnections()
	c, err := kubernetes.NewForConfigAndClient(s.RESTConfig(), client)
	must(t, err)
	factory := informers.NewSharedInformerFactory(c, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	ctx, stop := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer stop()
	write := func(n int) {
		name := fmt.Sprint("c", n%7)
		_, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = c.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{})
		}
		if err != nil && (fmt.Sprint(effect) != fmt.Sprint(apiserver.Restart) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown) {
			t.Fatal(err) // but a restart cuts the connections of writers, too
		}
	}
	write(0)
	factory.WaitForCacheSync(ctx.Done())
	fault := s.Fail(apiserver.On("watch", "configmaps"), effect)
	for n := range 20 {
		time.Sleep(20 * time.Second) // virtual
		write(n)
		if n%5 == 4 {
			s.Restart() // the informer opens another watch
			client.CloseIdleConnections()
			time.Sleep(time.Second)
		}
	}
	fault.End()
	time.Sleep(20 * time.Minute) // virtual: after the pauses of the informer, and the ends of its watches
	want, got := map[string]string{}, map[string]string{}
	list, err := c.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	must(t, err)
	for _, o := range list.Items {
		want[o.Name] = o.ResourceVersion
	}
	for _, o := range informer.GetStore().List() {
		got[o.(*corev1.ConfigMap).Name] = o.(*corev1.ConfigMap).ResourceVersion
	}
	if !maps.Equal(got, want) {
		t.Errorf("the informer has %v, the server %v", got, want)
	}
}
