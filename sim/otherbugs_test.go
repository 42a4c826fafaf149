package sim_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/sim"
)

// bugsOfMissedEvents show when a program does not see a state between two others.
var bugsOfMissedEvents = []bug{
	{name: "instaclustr-398", // the volume goes when its Pod is seen being deleted; it has no owner, and nobody looks later
		steps: []sim.Step{app("a", `"x":"y"`, held), sim.Together(sim.Delete("configmaps", "default/a"), sim.Patch("configmaps", "default/a", `{"metadata":{"finalizers":null}}`))},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				volume, err := k.get("a-volume")
				switch {
				case err != nil || k.cm == nil:
					return err
				case k.deleted() && volume != nil:
					return k.remove(volume)
				case k.deleted() || volume != nil:
					return nil
				case !fixed:
					k.cm = nil
				}
				return k.create("a-volume")
			}
		}},
	{name: "casskop-342", // one replica less is expected, so 2 to 0 leaves one
		steps: []sim.Step{app("a", `"replicas":"2"`, ""), sim.Together(set("a", `"replicas":"1"`), set("a", `"replicas":"0"`))},
		reconcile: func(fixed bool) act {
			return func(k kit) error { return k.scale(true, !fixed) }
		}},
	{name: "rabbitmq-758", // fewer replicas are refused: how many there are depends on what was seen
		steps: []sim.Step{app("a", `"replicas":"1"`, ""), sim.Together(set("a", `"replicas":"3"`), set("a", `"replicas":"2"`))},
		reconcile: func(fixed bool) act {
			return func(k kit) error { return k.scale(fixed, false) }
		}},
}

// scale makes as many Secrets as the custom resource wants. Shrinks says that it also takes them away, and byOne that it
// takes one.
func (k kit) scale(shrinks, byOne bool) error {
	if k.deleted() {
		return nil
	}
	want, err := strconv.Atoi(k.want("replicas"))
	if err != nil {
		return err
	}
	found, err := k.all()
	if err != nil {
		return err
	}
	has := map[string]*corev1.Secret{}
	for _, s := range found {
		has[s.Name] = s
	}
	for i := range want {
		if name := fmt.Sprintf("a-%d", i); has[name] == nil {
			if err := k.create(name); err != nil {
				return err
			}
		}
	}
	for i := len(found) - 1; i >= want && shrinks; i-- {
		if s := has[fmt.Sprintf("a-%d", i)]; s != nil {
			if err := k.remove(s); err != nil {
				return err
			}
		}
		if byOne {
			return nil
		}
	}
	return nil
}

// otherBugs need an order, or show without a fault.
var otherBugs = []bug{
	{name: "instaclustr-400", // the first of a list is the seed
		steps: []sim.Step{app("a", `"replicas":"3"`, ""), set("a", `"x":"y"`)},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				if err := k.scale(true, false); err != nil {
					return err
				}
				found, err := k.all()
				if err != nil || len(found) == 0 {
					return err
				}
				seed := found[0].Name
				for _, s := range found {
					if fixed {
						seed = min(seed, s.Name)
					}
				}
				return k.note("seed", seed)
			}
		}},
	{name: "cass-operator-417", // a volume that is still in use is deleted at each look
		steps: []sim.Step{
			sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: a-volume, namespace: default, finalizers: [sim.dev/f]}}`),
			app("a", `"nodes":"0"`, ""), sim.Patch("secrets", "default/a-volume", `{"metadata":{"finalizers":null}}`),
		},
		shown: "is deleted again",
		reconcile: func(fixed bool) act {
			deleted := map[types.UID]bool{} // the record of the test
			return func(k kit) error {
				if k.deleted() || k.want("nodes") != "0" {
					return nil
				}
				volume, err := k.get("a-volume")
				if err != nil || volume == nil {
					return err
				}
				k.result.RequeueAfter = 5 * time.Second
				if fixed && volume.DeletionTimestamp != nil {
					return nil
				}
				if deleted[volume.UID] {
					panic("the volume is deleted again")
				}
				err = k.remove(volume)
				deleted[volume.UID] = err == nil
				return err
			}
		}},
	{name: "kubernetes-129795", // what was made and not seen within five minutes is taken for not made
		steps:  []sim.Step{app("a", `"nodes":"2"`, ""), set("a", `"nodes":"3"`)},
		cached: true,
		// Like client-go, and unlike Flyball, it takes a silent watch for one without events.
		options: func(o *flyball.Options) {
			o.Cache.Configure = func(o *informer.Options) { o.Reflector.Silence = -1 }
		},
		reconcile: func(fixed bool) act {
			expected, since, sure := map[string]bool{}, time.Time{}, false
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				found, err := k.all()
				if err != nil {
					return err
				}
				has := map[string]bool{}
				for _, s := range found {
					has[s.Name] = true
					delete(expected, s.Name)
				}
				if len(expected) > 0 {
					if time.Since(since) < 5*time.Minute {
						k.result.RequeueAfter = 30 * time.Second
						return nil
					}
					clear(expected)
					sure = !fixed
				}
				if !sure { // a new process, or one with an error before: the server knows
					for s, err := range client.List[corev1.Secret](k.ctx, k.live, client.InNamespace(k.key.Namespace), client.MatchingLabels{"of": k.key.Name}) {
						if err != nil {
							return err
						}
						if !has[s.Name] {
							expected[s.Name], since = true, time.Now()
						}
						has[s.Name] = true
					}
				}
				want, err := strconv.Atoi(k.want("nodes"))
				for i := len(has); i < want && err == nil; i++ {
					var s *corev1.Secret
					if s, err = k.createOne(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}); err == nil {
						expected[s.Name], since = true, time.Now()
					}
				}
				if sure = err == nil; len(expected) > 0 {
					k.result.RequeueAfter = 30 * time.Second
				}
				return err
			}
		}},
	{name: "zookeeper-410", // the reconcile goes on after the finalizer is removed, and makes the volume again
		steps: []sim.Step{app("a", `"x":"y"`, held), sim.Delete("configmaps", "default/a")},
		shown: "is left",
		scenario: sim.Scenario{Settled: []sim.Invariant{sim.Holds("no volume without its owner", func(ctx context.Context, cfg *rest.Config) error {
			c, err := client.New(cfg, client.Options{})
			if err != nil {
				return err
			}
			if _, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "a"}); err == nil || client.IgnoreNotFound(err) != nil {
				return err
			}
			if _, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: "a-volume"}); err == nil {
				return fmt.Errorf("the volume is left")
			}
			return nil
		})}},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.cm == nil {
					return nil
				}
				if k.deleted() {
					volume, err := k.get("a-volume")
					if err == nil && volume != nil {
						err = k.remove(volume)
					}
					if err == nil {
						err = k.release()
					}
					if err != nil || fixed {
						return err
					}
				}
				if !fixed {
					k.cm = nil // the volume has no owner
				}
				return k.ensure("a-volume")
			}
		}},
	{name: "zookeeper-517", // what is not ready is not changed, so a good spec after a bad one is never applied
		steps: []sim.Step{app("a", `"image":"one"`, ""), set("a", `"image":"bad"`), set("a", `"image":"two"`)},
		shown: "image",
		scenario: sim.Scenario{Settled: []sim.Invariant{sim.Holds("the last image runs", func(ctx context.Context, cfg *rest.Config) error {
			c, err := client.New(cfg, client.Options{})
			if err != nil {
				return err
			}
			cm, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "a"})
			if err != nil {
				return err
			}
			pod, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: "a-pod"})
			if err == nil && string(pod.Data["image"]) != cm.Data["image"] {
				err = fmt.Errorf("the image is %s, want %s", pod.Data["image"], cm.Data["image"])
			}
			return err
		})}},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				pod, err := k.get("a-pod")
				switch {
				case err != nil:
					return err
				case pod == nil:
					return k.create("a-pod", "image", k.want("image"))
				case string(pod.Data["image"]) == k.want("image"), string(pod.Data["image"]) == "bad" && !fixed:
					return nil
				}
				return k.put(pod, "image", k.want("image"))
			}
		}},
}
