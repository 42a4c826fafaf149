package clientgo_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/internal/testobj"
)

// A program that keeps one short string of each object, as the keys of a blocked controller are, keeps little else.
func TestKeptStringsKeepLittle(t *testing.T) {
	const n = 300
	c := sizes.Draw(t)
	c.GVK, c.First, c.Events = corev1.SchemeGroupVersion.WithKind("ConfigMap"), nil, nil
	for _, o := range testobj.Large(sizes.Namespace, n) {
		c.First = append(c.First, o)
	}
	in, err := clientgo.NewSharedIndexInformer(c.Config(t), c.Proto(), 0, toolscache.Indexers{"app": func(o any) ([]string, error) {
		return []string{o.(*corev1.ConfigMap).Labels["app"]}, nil
	}})
	must(t, err)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		in.Run(stop)
		close(done)
	}()
	defer func() {
		close(stop)
		<-done
	}()
	if !toolscache.WaitForCacheSync(bounded(t).Done(), in.HasSynced) {
		t.Fatal("not synced")
	}
	store := in.GetIndexer()
	testobj.CheckKept(t, "GetByKey", n, func(keep func(string)) {
		for _, o := range c.First {
			got, _, err := store.GetByKey(sizes.Namespace + "/" + o.GetName())
			must(t, err)
			keep(got.(*corev1.ConfigMap).Labels["app"])
		}
	})
	testobj.CheckKept(t, "List", n, func(keep func(string)) {
		for _, o := range store.List() {
			keep(o.(*corev1.ConfigMap).Name)
		}
	})
	testobj.CheckKept(t, "ListKeys", n, func(keep func(string)) {
		for _, key := range store.ListKeys() {
			keep(key)
		}
	})
	testobj.CheckKept(t, "ByIndex", n, func(keep func(string)) {
		for _, app := range store.ListIndexFuncValues("app") {
			found, err := store.ByIndex("app", app)
			must(t, err)
			for _, o := range found {
				keep(o.(*corev1.ConfigMap).Name)
			}
		}
	})
	testobj.CheckKept(t, "a handler", n, func(keep func(string)) {
		told := make(chan string, n)
		r, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
			key, err := toolscache.MetaNamespaceKeyFunc(o)
			if err != nil {
				t.Error(err)
			}
			told <- key
		}})
		must(t, err)
		for range n {
			keep(<-told)
		}
		must(t, in.RemoveEventHandler(r))
	})
}
