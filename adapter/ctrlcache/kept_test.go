package ctrlcache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/testobj"
)

// A program that keeps one short string of each object, as the requests of a blocked reconciler do, keeps little else.
func TestKeptStringsKeepLittle(t *testing.T) {
	const n = 300
	c := sizes.Draw(t)
	c.GVK, c.First, c.Events = podKind, nil, nil
	all := testobj.Large(sizes.Namespace, n)
	for _, o := range all {
		c.First = append(c.First, o)
	}
	held, err := ctrlcache.New(c.Config(t), crcache.Options{})
	must(t, err)
	run(t, held.Start)
	ctx := bounded(t)
	testobj.CheckKept(t, "Get", n, func(keep func(string)) {
		for _, o := range all {
			var m corev1.ConfigMap
			must(t, held.Get(ctx, crclient.ObjectKeyFromObject(o), &m))
			keep(m.Labels["app"])
		}
	})
	testobj.CheckKept(t, "Get of unstructured", n, func(keep func(string)) {
		for _, o := range all {
			var m unstructured.Unstructured
			m.SetGroupVersionKind(podKind)
			must(t, held.Get(ctx, crclient.ObjectKeyFromObject(o), &m))
			keep(m.GetLabels()["app"])
		}
	})
	testobj.CheckKept(t, "List", n, func(keep func(string)) {
		var list corev1.ConfigMapList
		must(t, held.List(ctx, &list))
		for i := range list.Items {
			keep(list.Items[i].Name)
		}
	})
	in, err := held.GetInformer(ctx, &corev1.ConfigMap{})
	must(t, err)
	testobj.CheckKept(t, "a handler", n, func(keep func(string)) {
		told := make(chan crclient.ObjectKey, n)
		r, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) { told <- crclient.ObjectKeyFromObject(o.(*corev1.ConfigMap)) }})
		must(t, err)
		for range n {
			keep((<-told).Name)
		}
		must(t, in.RemoveEventHandler(r))
	})
}
