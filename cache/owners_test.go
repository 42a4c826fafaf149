package cache_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// A list by owner has what has an owner of that uid, whoever asks first, and however many at once. The objects are drawn:
// with no owner, one or several, which come and go.
func TestOwnedBy(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { ownedBy(t, seed) })
		})
	}
}

func ownedBy(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	cl := newCluster()
	objects := map[object.Key]*corev1.Pod{}
	draw := func() {
		key := object.Key{Namespace: []string{"a", "b", "c"}[random.IntN(3)], Name: fmt.Sprint("p", random.IntN(8))}
		var refs []metav1.OwnerReference
		for i, uid := range random.Perm(4)[:random.IntN(4)] {
			refs = append(refs, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: fmt.Sprint("n", uid), UID: k8stypes.UID(fmt.Sprint("u", uid)), Controller: new(i == 0)})
		}
		if objects[key] != nil && random.IntN(4) == 0 {
			delete(objects, key)
			cl.server("Pod", "").Delete(key)
			cl.server("Pod", "metadata-only").Delete(key)
			return
		}
		p := testobj.Pod(key.String(), testobj.OwnedBy(refs...))
		objects[key] = p
		cl.server("Pod", "").Put(p.DeepCopy())
		cl.server("Pod", "metadata-only").Put(p.DeepCopy())
	}
	for range random.IntN(30) {
		draw()
	}
	c := newCache(t, cl, cache.Options{})
	defer open(t, c, &corev1.Pod{}).Close()
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(kind("Pod"))
	defer open(t, c, meta).Close()
	stop := start(c)
	defer func() { _ = stop() }()
	synctest.Wait()
	for range 4 {
		var readers sync.WaitGroup
		for uid := range 5 {
			for _, ns := range []string{"", "b"} {
				var want []string
				for key, p := range objects {
					if (ns == "" || ns == key.Namespace) && slices.ContainsFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == k8stypes.UID(fmt.Sprint("u", uid)) }) {
						want = append(want, key.String())
					}
				}
				slices.Sort(want)
				by := client.OwnedBy(fmt.Sprint("u", uid))
				readers.Go(func() {
					typed := strings.Fields(names(client.List[corev1.Pod](t.Context(), c, client.InNamespace(ns), by)))
					headers := strings.Fields(names(client.List[metav1.PartialObjectMetadata](t.Context(), c, client.ListOptions{Kind: kind("Pod")}, client.InNamespace(ns), by)))
					slices.Sort(typed)
					slices.Sort(headers)
					if !slices.Equal(typed, want) || !slices.Equal(headers, want) {
						t.Errorf("of u%d in %q: %v and %v, want %v", uid, ns, typed, headers, want)
					}
				})
			}
		}
		readers.Wait()
		for range random.IntN(10) {
			draw()
		}
		synctest.Wait()
	}
}
