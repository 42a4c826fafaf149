package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/sim"
)

// bugsOfInput show with values that nobody has thought of.
var bugsOfInput = []bug{
	{name: "tidb-operator-4635", // three items are enough, even empty ones
		steps:    []sim.Step{app("a", `"members":",,"`, ""), set("a", `"members":"x,y,z"`), set("a", `"members":"u,v,w"`)},
		shown:    "a member without a name",
		scenario: sim.Scenario{Settled: []sim.Invariant{sim.Holds("members have names, and those that are asked for run", membersAreGood)}},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				members := strings.Split(k.want("members"), ",")
				for _, m := range members {
					if len(members) < 3 || fixed && m == "" {
						return k.note("refused", k.want("members"))
					}
				}
				has, err := k.get("a-members")
				if err == nil {
					err = k.note("refused", "none")
				}
				switch {
				case err != nil:
					return err
				case has == nil:
					return k.create("a-members", "m", strings.Join(members, ","))
				case string(has.Data["m"]) != strings.Join(members, ","):
					return k.put(has, "m", strings.Join(members, ","))
				}
				return nil
			}
		}},
	{name: "tidb-operator-4650", // a policy that nobody knows is taken for the default, which deletes
		steps: []sim.Step{
			sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: a-volume, namespace: default}}`),
			app("a", `"nodes":"0","policy":"Retain"`, ""), set("a", `"policy":"Retian"`), set("a", `"policy":"Delete"`),
		},
		shown: "the volume is deleted",
		scenario: sim.Scenario{Settled: []sim.Invariant{sim.Holds("a volume goes only where its deletion is asked for", func(ctx context.Context, cfg *rest.Config) error {
			cm, volume, err := read(ctx, cfg, "a-volume")
			if cm == nil {
				return err
			}
			if err != nil || volume != nil || cm.Data["policy"] == "Delete" {
				return err
			}
			return fmt.Errorf("the volume is deleted, with the policy %q", cm.Data["policy"])
		})}},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				policy, refused := k.want("policy"), "none"
				if fixed && policy != "Retain" && policy != "Delete" {
					refused = policy
				}
				if err := k.note("refused", refused); err != nil || refused != "none" {
					return err
				}
				volume, err := k.get("a-volume")
				if err != nil || volume == nil || policy == "Retain" {
					return err
				}
				return k.remove(volume)
			}
		}},
	{name: "keda-7863", // the number of replicas is filled in by somebody else, and the cache may not show it yet
		steps: []sim.Step{
			sim.Together(
				sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: target, namespace: default}}`),
				sim.Patch("secrets", "default/target", `{"stringData":{"replicas":"1"}}`)),
			app("a", `"replicas":"3"`, ""),
		},
		cached: true,
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				target, err := k.get("target")
				if err != nil || target == nil {
					return errors.Join(err, errors.New("there is no target"))
				}
				var replicas *int
				if n, err := strconv.Atoi(string(target.Data["replicas"])); err == nil {
					replicas = &n
				}
				if fixed && replicas == nil {
					return errors.New("the target has no replicas yet")
				}
				if strconv.Itoa(*replicas) == k.want("replicas") {
					return nil
				}
				return k.put(target, "replicas", k.want("replicas"))
			}
		}},
}

// membersAreGood says whether the members that run are those of the custom resource, and none while these are bad.
func membersAreGood(ctx context.Context, cfg *rest.Config) error {
	cm, members, err := read(ctx, cfg, "a-members")
	if err != nil {
		return err
	}
	want, has := cm.Data["members"], ""
	if want == ",," {
		want = ""
	}
	if members != nil {
		has = string(members.Data["m"])
	}
	if has == want {
		return nil
	}
	for m := range strings.SplitSeq(has, ",") {
		if m == "" {
			return fmt.Errorf("%q has a member without a name", has)
		}
	}
	return fmt.Errorf("the members are %q, want %q", has, want)
}

// read returns the custom resource a, and a Secret; nil where there is none.
func read(ctx context.Context, cfg *rest.Config, name string) (*corev1.ConfigMap, *corev1.Secret, error) {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, nil, err
	}
	cm, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "a"})
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	if err != nil {
		cm = nil
	}
	s, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: name})
	if err != nil {
		s = nil
	}
	return cm, s, client.IgnoreNotFound(err)
}
