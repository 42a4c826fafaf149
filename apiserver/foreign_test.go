package apiserver_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// A server may return to the snapshot of another one. It keeps its options: who may do what, its seed and its gates.
func TestRestoreOfAnotherServer(t *testing.T) {
	other := apiserver.Start(t, apiserver.Options{RBAC: true, Seed: "other", FeatureGates: map[string]bool{"ShardedListAndWatch": true}})
	if _, err := client.Create(t.Context(), newClient(t, other), configMap("a", "1")); err != nil {
		t.Fatal(err)
	}
	made := func(restored bool) string {
		s := apiserver.Start(t, apiserver.Options{Seed: "own"})
		if restored {
			s.Restore(other.Snapshot())
		}
		c := newClient(t, s)
		b, err := client.Create(t.Context(), c, configMap("b", "1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: "default", Name: "a"}); (err == nil) != restored {
			t.Errorf("restored %v: get of the other server's object: %v", restored, err)
		}
		list, err := http.Get(s.URL() + "/api/v1/configmaps?shardSelector=none")
		if err != nil {
			t.Fatal(err)
		}
		list.Body.Close()
		if list.StatusCode != http.StatusOK {
			t.Errorf("restored %v: a list with a parameter that the server does not have: %s", restored, list.Status)
		}
		return string(b.UID)
	}
	if made(true) == "" || made(false) == "" {
		t.Error("an object without a uid")
	}
}
