package informer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/store"
)

// An indexer may keep the entries that it is shown: what comes later changes none of them.
func TestIndexersMayKeepEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []*store.Entry
		s := newServer()
		put := func(round string) {
			for i := range 50 {
				s.Put(configMap(fmt.Sprintf("a%02d", i), fmt.Sprint(round, i)))
			}
		}
		put("first ")
		in := newInformer(t, s, func(o *informer.Options) {
			o.Indexes = map[string]store.Indexer{"keep": store.IndexFunc(func(e *store.Entry) ([]string, error) {
				kept = append(kept, e)
				return nil, nil
			})}
		})
		stop := start(t, in)
		synctest.Wait()
		put("second ")
		synctest.Wait()
		if err := stop(); !errors.Is(err, errEnd) {
			t.Error(err)
		}
		if len(kept) < 100 {
			t.Fatalf("%d entries were shown", len(kept))
		}
		for _, e := range kept {
			var cm corev1.ConfigMap
			if err := e.Decode(&cm); err != nil {
				t.Fatalf("%s: %v", e.Key(), err)
			}
			if cm.Name != e.Key().Name || cm.ResourceVersion != e.ResourceVersion() || cm.Data["value"] != cm.Labels["value"] {
				t.Fatalf("%s has become %s of version %s: %v", e.Key(), cm.Name, cm.ResourceVersion, cm.Data)
			}
		}
	})
}
