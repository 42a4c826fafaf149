package apiserver_test

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// A thousand servers run in one process at once, each with a state of its own.
func TestAThousandServers(t *testing.T) {
	const many = 1000
	clients := make([]*client.Live, many)
	for i := range clients {
		clients[i] = newClient(t, apiserver.Start(t, apiserver.Options{InMemory: true}))
	}
	name := func(i int) string { return fmt.Sprintf("map-%d", i) }
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := g; i < many; i += 8 {
				if _, err := client.Create(t.Context(), clients[i], configMap(name(i), "1")); err != nil {
					t.Errorf("server %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	for i, c := range clients {
		var found []string
		for o, err := range client.List[corev1.ConfigMap](t.Context(), c) {
			if err != nil {
				t.Fatalf("server %d: %v", i, err)
			}
			found = append(found, o.Name)
		}
		if len(found) != 1 || found[0] != name(i) {
			t.Fatalf("server %d has %q, want its one object", i, found)
		}
		if _, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: "default", Name: name(i)}); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
	}
}
