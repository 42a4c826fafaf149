package ctrlcache_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/test/servertest"
)

// versioned is a store that says which state reads show, as that of client-go from v0.36 on.
type versioned interface{ LastStoreSyncResourceVersion() string }

// An informer of the default cache is a SharedIndexInformer, unless it is for several namespaces. So is that of the
// packed cache.
func TestInformersAreShared(t *testing.T) {
	two := map[string]crcache.Config{"default": {}, "kube-system": {}}
	for _, tc := range []struct {
		opts   crcache.Options
		shared bool
	}{{crcache.Options{}, true}, {crcache.Options{DefaultNamespaces: two}, false}} {
		stock, err := crcache.New(config(t), tc.opts)
		must(t, err)
		run(t, stock.Start)
		for name, c := range map[string]crcache.Cache{"default": stock, "packed": newCache(t, tc.opts, ctrlcache.Options{})} {
			in, err := c.GetInformer(bounded(t), &corev1.ConfigMap{})
			must(t, err)
			kind, err := c.GetInformerForKind(bounded(t), podKind)
			must(t, err)
			_, shared := in.(toolscache.SharedIndexInformer)
			if _, also := kind.(toolscache.SharedIndexInformer); shared != tc.shared || also != tc.shared {
				t.Errorf("%s, %d namespaces: %T", name, len(tc.opts.DefaultNamespaces), in)
			}
		}
	}
}

// A program that compares the version of the store with that of its own writes reads them.
func TestReadsAfterTheVersionOfTheStore(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	c := newCache(t, crcache.Options{}, ctrlcache.Options{})
	got, err := c.GetInformer(ctx, &corev1.ConfigMap{})
	must(t, err)
	store := got.(toolscache.SharedIndexInformer).GetStore()
	seen := func() int {
		v, err := strconv.Atoi(store.(versioned).LastStoreSyncResourceVersion())
		must(t, err)
		return v
	}
	for i := range 50 {
		cm := testobj.ConfigMap(fmt.Sprintf("%s/c%02d", ns, i))
		must(t, live(t).Create(ctx, cm))
		wrote, err := strconv.Atoi(cm.ResourceVersion)
		must(t, err)
		for seen() < wrote {
			if ctx.Err() != nil {
				t.Fatal("the version does not come")
			}
			runtime.Gosched()
		}
		if err := c.Get(ctx, crclient.ObjectKeyFromObject(cm), &corev1.ConfigMap{}); err != nil {
			t.Fatalf("at version %d: %v", wrote, err)
		}
	}
}

// The store of an informer reads as that of client-go, and takes no writes. What belongs to the cache is refused.
func TestStoreOfAnInformer(t *testing.T) {
	ns := servertest.Namespace(t, servertest.Shared(t))
	ctx := bounded(t)
	for i, color := range []string{"red", "red", "blue"} {
		must(t, live(t).Create(ctx, testobj.ConfigMap(fmt.Sprintf("%s/c%d", ns, i), testobj.Labels("color="+color))))
	}
	u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	u.SetGroupVersionKind(podKind)
	m.SetGroupVersionKind(podKind)
	byColor := func(o any) ([]string, error) { return []string{o.(metav1.Object).GetLabels()["color"]}, nil }
	c := newCache(t, crcache.Options{}, ctrlcache.Options{})
	for _, of := range []crclient.Object{&corev1.ConfigMap{}, u, m} {
		t.Run(fmt.Sprintf("%T", of), func(t *testing.T) {
			got, err := c.GetInformer(ctx, of)
			must(t, err)
			in := got.(toolscache.SharedIndexInformer)
			must(t, in.AddIndexers(toolscache.Indexers{"color": byColor}))
			for name, f := range map[string]toolscache.IndexFunc{"color": byColor, toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc, "none": nil} {
				if err := in.AddIndexers(toolscache.Indexers{"new": byColor, name: f}); err == nil {
					t.Errorf("index %s is taken", name)
				}
			}
			x := in.GetIndexer()
			for index, want := range map[string]string{"color": "c0 c1", toolscache.NamespaceIndex: "c0 c1 c2 kube-root-ca.crt"} {
				value := map[string]string{"color": "red", toolscache.NamespaceIndex: ns}[index]
				all, err := x.ByIndex(index, value)
				var names []string
				for _, o := range all {
					if fmt.Sprintf("%T", o) != fmt.Sprintf("%T", of) {
						t.Errorf("a %T", o)
					}
					if m := o.(metav1.Object); m.GetNamespace() == ns && m.GetName() != "kube-root-ca.crt" {
						names = append(names, m.GetName())
					}
				}
				if want = strings.TrimSuffix(want, " kube-root-ca.crt"); strings.Join(names, " ") != want || err != nil {
					t.Errorf("by %s: %q, %v, want %s", index, names, err, want)
				}
			}
			if values := x.ListIndexFuncValues("color"); !slices.Contains(values, "blue") || !slices.Contains(values, "red") {
				t.Errorf("values %q", values)
			}
			if o, ok, err := in.GetStore().GetByKey(ns + "/c2"); !ok || err != nil || o.(metav1.Object).GetLabels()["color"] != "blue" {
				t.Errorf("%v, %v, %v", o, ok, err)
			}
			if _, ok, err := x.GetByKey(ns + "/none"); ok || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
			for call, err := range map[string]error{
				"Add": x.Add(of), "Update": x.Update(of), "Delete": x.Delete(of), "Replace": x.Replace(nil, ""), "Resync": x.Resync(),
			} {
				if !errors.Is(err, ctrlcache.ErrReadOnly) {
					t.Errorf("%s: %v", call, err)
				}
			}
			for call, err := range map[string]error{
				"SetTransform":         in.SetTransform(nil),
				"SetWatchErrorHandler": in.SetWatchErrorHandler(nil),
			} {
				if err == nil || !strings.Contains(err.Error(), call) || !strings.Contains(err.Error(), "cache.Options") {
					t.Errorf("%s: %v", call, err)
				}
			}
			in.Run(nil) // returns: the cache runs it
			if in.IsStopped() || !in.HasSynced() || !in.GetController().HasSynced() {
				t.Error("the informer does not run")
			}
			for in.LastSyncResourceVersion() == "" { // the watch tells its version after the reads show it
				if ctx.Err() != nil {
					t.Fatal("the version of the watch does not come")
				}
				runtime.Gosched()
			}
		})
	}
}
