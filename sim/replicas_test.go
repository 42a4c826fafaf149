package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/sim"
)

// elected returns a program whose replicas elect a leader.
func elected(do func(k kit, own *client.Live) error) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		own, err := client.New(cfg, client.Options{}) // its writes are not fenced
		if err != nil {
			return err
		}
		defer own.Close()
		m, err := flyball.New(flyball.Options{Name: "sim", Config: cfg, Logger: slog.New(slog.DiscardHandler), Leader: &leader.Options{Namespace: "default"}})
		if err != nil {
			return err
		}
		if err := operator(m, func(k kit) error { return do(k, own) }); err != nil {
			return err
		}
		return m.Run(ctx)
	}
}

// Two replicas do what one does, whatever happens to each, also if one is cut off for longer than its lease.
func TestReplicas(t *testing.T) {
	s := sim.Scenario{
		Replicas: 2,
		Steps:    []sim.Step{app("a", `"image":"1"`, ""), set("a", `"image":"2"`), sim.Delete("configmaps", "default/a")},
		Program: elected(func(k kit, _ *client.Live) error {
			if k.deleted() {
				return nil
			}
			if err := k.ensure("a-run"); err != nil {
				return err
			}
			s, err := k.get("a-run")
			if err != nil || s == nil || string(s.Data["image"]) == k.want("image") {
				return err
			}
			return k.put(s, "image", k.want("image"))
		}),
	}
	passes(t, s, time.Now())
	var cutOff []string
	for _, p := range sim.AllPlans(t, s) {
		if strings.HasPrefix(p, "partition@1:") {
			cutOff = append(cutOff, p)
		}
	}
	taken := 0
	for _, trace := range sim.Traces(t, s, cutOff, 1) {
		if strings.Contains(strings.Join(trace, "\n"), "replica-2 takes the lease default/sim") {
			taken++
		}
	}
	if len(cutOff) == 0 || taken == 0 {
		t.Errorf("of %d plans in which the leader is cut off, the other one takes over in %d", len(cutOff), taken)
	}
}

// A program that goes on writing without its lease is found.
func TestWritesWithoutLease(t *testing.T) {
	found, err := sim.FindBy(t, sim.Scenario{
		Replicas: 2,
		Steps:    []sim.Step{app("a", `"image":"1"`, "")},
		Rest:     3 * time.Minute,
		Ignore:   []string{"metadata.annotations"},
		Program: elected(func(k kit, own *client.Live) error {
			if k.deleted() || k.cm.Annotations["n"] != "" {
				return nil
			}
			for n := range 100 {
				_, err := client.Patch(context.WithoutCancel(k.ctx), own, k.cm, client.MergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n)))
				_ = err // it goes on
				time.Sleep(time.Second)
			}
			return nil
		}),
	}, "partition")
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Stories) == 0 || !strings.Contains(found.Stories[0], "patch configmaps/default/a after it has lost its lease") {
		t.Errorf("%d faults: %v", found.Done, found.Stories)
	}
}
