package ctrlcache_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/test/servertest"
)

// listed are how many Pods BenchmarkList lists.
const listed = 3001

// pod returns a Pod of 6 kB.
func pod(ns string, i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("pod-%04d", i)}}
	for c := range 4 {
		container := corev1.Container{Name: fmt.Sprintf("c%d", c), Image: "registry.example.com/team/image:1.2.3"}
		for e := range 18 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", e), Value: strings.Repeat(string(rune('a'+e)), 24)})
		}
		p.Spec.Containers = append(p.Spec.Containers, container)
	}
	return p
}

// BenchmarkList is a list by the default cache and by the packed one: of copies, and with UnsafeDisableDeepCopy, by which
// the default cache hands out its own objects. held-MB is what the cache keeps on the Go heap between lists.
func BenchmarkList(b *testing.B) {
	ns, direct := servertest.Namespace(b, servertest.Shared(b)), live(b)
	errs := make([]error, listed)
	var made sync.WaitGroup
	for worker := range 16 {
		made.Go(func() {
			for i := worker; i < listed; i += 16 {
				errs[i] = direct.Create(b.Context(), pod(ns, i))
			}
		})
	}
	made.Wait()
	must(b, errors.Join(errs...))
	for _, with := range []struct {
		name string
		open crcache.NewCacheFunc
	}{{"default", crcache.New}, {"packed", ctrlcache.New}} {
		before := heap()
		c, err := with.open(config(b), crcache.Options{DefaultTransform: crcache.TransformStripManagedFields()})
		must(b, err)
		run(b, c.Start)
		if !c.WaitForCacheSync(bounded(b)) {
			b.Fatal("not synced")
		}
		var first corev1.PodList
		must(b, c.List(b.Context(), &first, crclient.InNamespace(ns), crclient.Limit(1)))
		held := float64(heap()-before) / 1e6
		measure := func(name string, read func(testing.TB) int) {
			b.Run(with.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if n := read(b); n != listed {
						b.Fatal(n)
					}
				}
				b.ReportMetric(held, "held-MB")
			})
		}
		list := func(opts ...crclient.ListOption) func(testing.TB) int {
			return func(b testing.TB) int {
				var pods corev1.PodList
				must(b, c.List(b.Context(), &pods, append(opts, crclient.InNamespace(ns))...))
				return len(pods.Items)
			}
		}
		measure("copies", list())
		measure("shared", list(crclient.UnsafeDisableDeepCopy))
		packed, ok := c.(*ctrlcache.Cache)
		if !ok {
			continue
		}
		measure("two fields", func(b testing.TB) (n int) {
			var view struct {
				Spec struct {
					NodeName string `json:"nodeName"`
				} `json:"spec"`
				Status struct {
					Phase corev1.PodPhase `json:"phase"`
				} `json:"status"`
			}
			for err := range packed.ProjectList(b.Context(), &corev1.PodList{}, &view, crclient.InNamespace(ns)) {
				must(b, err)
				n++
			}
			return n
		})
		measure("headers", func(b testing.TB) (n int) {
			for _, err := range packed.Headers(b.Context(), &corev1.PodList{}, crclient.InNamespace(ns)) {
				must(b, err)
				n++
			}
			return n
		})
	}
}

// heap returns how many bytes the Go heap has that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
