package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
)

// A Secret that is free is news for each of three custom resources. The one that is reconciled first takes it: which
// one that is, is the queue's affair. Chosen by name, it is the same in every order.
func TestOrderOfKeys(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("fixed=%v", fixed), func(t *testing.T) {
			began := time.Now()
			s := sim.Scenario{
				Steps: []sim.Step{
					sim.Together(app("a", `"x":"y"`, ""), app("b", `"x":"y"`, ""), app("c", `"x":"y"`, "")),
					sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: free, namespace: default}}`),
				},
				Program: program(func(m *flyball.Manager) error {
					return operator(m, func(k kit) error { return k.take(fixed) }, controller.Watches[corev1.Secret](handler.MapHeader(all)))
				}),
			}
			if fixed {
				passes(t, s, began)
				return
			}
			found, err := sim.Find(t, s, 1<<20, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range found.Plans {
				if strings.HasPrefix(p, "last-first@") {
					return
				}
			}
			t.Errorf("%d plans found it, none by the order of keys: %q", len(found.Plans), found.Plans)
		})
	}
}

// all maps an object to the three custom resources.
func all(_ context.Context, h *object.Header) (out []reconcile.Request, err error) {
	for _, name := range []string{"a", "b", "c"} {
		out = append(out, reconcile.Request{Namespace: h.Namespace, Name: name})
	}
	return out, nil
}

// take notes in the free Secret who has it. If fixed, only the first one by name may.
func (k kit) take(fixed bool) error {
	free, err := k.get("free")
	if err != nil || free == nil || k.deleted() || len(free.Data["taken"]) > 0 {
		return err
	}
	if fixed {
		for cm, err := range client.List[corev1.ConfigMap](k.ctx, k.c, client.InNamespace(k.key.Namespace), client.MatchingLabels{"kind": "app"}) {
			if err != nil || cm.Name < k.key.Name {
				return err
			}
		}
	}
	return k.put(free, "taken", k.key.Name)
}
