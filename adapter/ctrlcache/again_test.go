package ctrlcache_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/adapter/internal/remade"
)

// A definition that is deleted and made again, with the other scope or the same, under a cache of all namespaces or of
// some: reads follow by themselves. A cache that began with namespaces takes no object without one.
func TestDefinitionsMadeAgain(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { madeAgain(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func madeAgain(t *testing.T, r *rand.Rand) {
	widgets := remade.NewWidgets(r)
	defer widgets.Close()
	within := [][]string{nil, {"ns0"}, {"ns0", "ns9"}}[r.IntN(3)]
	opts := crcache.Options{DefaultNamespaces: map[string]crcache.Config{}}
	for _, namespace := range within {
		opts.DefaultNamespaces[namespace] = crcache.Config{}
	}
	barred := within != nil && !widgets.Cluster
	held, err := ctrlcache.New(widgets.Config, opts)
	must(t, err)
	run(t, held.Start)
	for round := range 6 {
		time.Sleep(70 * time.Second)
		var want, inNamespace, read []string
		for key := range widgets.Content() {
			name := strings.TrimPrefix(key.Namespace+"/"+key.Name, "/")
			if barred && widgets.Cluster || within != nil && !widgets.Cluster && !slices.Contains(within, key.Namespace) {
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(widgets.Kind)
				if err := held.Get(t.Context(), crclient.ObjectKey(key), u); err == nil || !widgets.Cluster && crclient.IgnoreNotFound(err) == nil {
					t.Errorf("round %d: get %s, which is not held: %v", round, name, err)
				}
				continue
			}
			want = append(want, name)
			if key.Namespace == "ns0" {
				inNamespace = append(inNamespace, name)
			}
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(widgets.Kind)
			if err := held.Get(t.Context(), crclient.ObjectKey(key), u); err != nil {
				t.Errorf("round %d: get %s: %v", round, name, err)
				continue
			}
			read = append(read, name)
		}
		listed := func(opts ...crclient.ListOption) (all []string) {
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(widgets.Kind)
			if err := held.List(t.Context(), &list, opts...); err != nil && !(barred && widgets.Cluster) {
				t.Errorf("round %d: list: %v", round, err)
			}
			for _, o := range list.Items {
				if barred && widgets.Cluster && o.GetNamespace() != "" {
					continue // what was held before
				}
				all = append(all, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"))
			}
			return all
		}
		for what, pair := range map[string][2][]string{"lists have": {listed(), want}, "reads find": {read, want}, "the namespace has": {listed(crclient.InNamespace("ns0")), inNamespace}} {
			slices.Sort(pair[0])
			slices.Sort(pair[1])
			if !slices.Equal(pair[0], pair[1]) {
				t.Errorf("round %d, cluster-scoped %v: %s %q, want %q", round, widgets.Cluster, what, pair[0], pair[1])
			}
		}
		if t.Failed() {
			return
		}
		widgets.Remake()
	}
}
