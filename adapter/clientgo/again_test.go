package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/adapter/internal/remade"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reflector"
)

// A definition that is deleted and made again, with the other scope or the same, under an informer of all namespaces or
// of one: the store, its indexes and the handlers follow by themselves. An informer that began with one namespace takes
// no object without a namespace, and says so. If its watch ended before it showed that the objects were deleted, nothing
// proves that they are gone: it keeps them, as seen last, and Readable says that they may be gone.
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
	only := []string{"", "ns0"}[r.IntN(2)]
	proto := &unstructured.Unstructured{}
	proto.SetGroupVersionKind(widgets.Kind)
	in, err := clientgo.NewSharedIndexInformer(widgets.Config, proto, 0,
		toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}, clientgo.WithNamespace(only))
	must(t, err)
	var mu sync.Mutex
	told := map[string]bool{}
	var failure error // of the watch
	tell := func(o any, there bool) {
		key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(o)
		must(t, err)
		mu.Lock()
		defer mu.Unlock()
		if delete(told, key); there {
			told[key] = true
		}
	}
	_, err = in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { tell(o, true) }, UpdateFunc: func(_, o any) { tell(o, true) }, DeleteFunc: func(o any) { tell(o, false) },
	})
	must(t, err)
	must(t, in.SetWatchErrorHandler(func(_ *toolscache.Reflector, err error) {
		mu.Lock()
		defer mu.Unlock()
		failure = err
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		in.Run(ctx.Done())
		close(done)
	}()
	defer func() {
		cancel()
		<-done
	}()
	namespaced := !widgets.Cluster // at the start
	var before []string            // what the informer had in the round before
	for round := range 6 {
		mu.Lock()
		failure = nil
		mu.Unlock()
		time.Sleep(70 * time.Second)
		barred := namespaced && only != "" && widgets.Cluster
		var want, inNamespace []string
		for key := range widgets.Content() {
			if !barred && (widgets.Cluster || only == "" || key.Namespace == only) {
				want = append(want, strings.TrimPrefix(key.Namespace+"/"+key.Name, "/"))
			}
			if key.Namespace == "ns0" {
				inNamespace = append(inNamespace, "ns0/"+key.Name)
			}
		}
		mu.Lock()
		if said := failure; barred && !errors.Is(said, reflector.ErrNamespace) {
			t.Errorf("round %d: the error is %v, want that of a wrong namespace", round, said)
		}
		handled := []string{}
		for key := range told {
			handled = append(handled, key)
		}
		mu.Unlock()
		held := in.GetIndexer().ListKeys()
		if unavailable := (*informer.UnavailableError)(nil); barred && errors.As(clientgo.Readable(in), &unavailable) {
			want, inNamespace = held, slices.Clone(held)
			for _, key := range held {
				if !slices.Contains(before, key) {
					t.Errorf("round %d: the store has %s, which was not there before", round, key)
				}
			}
		}
		before = held
		var indexed, read []string
		by, err := in.GetIndexer().ByIndex(toolscache.NamespaceIndex, "ns0")
		must(t, err)
		for _, o := range by {
			indexed = append(indexed, "ns0/"+o.(*unstructured.Unstructured).GetName())
		}
		for _, key := range want {
			if _, ok, err := in.GetIndexer().GetByKey(key); err == nil && ok {
				read = append(read, key)
			}
		}
		for what, pair := range map[string][2][]string{
			"the store has": {held, want}, "handlers have": {handled, want}, "the index of the namespace has": {indexed, inNamespace}, "reads find": {read, want},
		} {
			slices.Sort(pair[0])
			slices.Sort(pair[1])
			if !slices.Equal(pair[0], pair[1]) {
				t.Errorf("round %d, namespace %q, cluster-scoped %v: %s %q, want %q", round, only, widgets.Cluster, what, pair[0], pair[1])
			}
		}
		if t.Failed() {
			return
		}
		widgets.Remake()
	}
}
