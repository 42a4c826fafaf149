package leader_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/leader"
	"github.com/flyball-io/flyball/object"
)

// How do I let one of several replicas work, and keep the others from writing?
func ExampleElector_Run() {
	operate := func(ctx context.Context, cfg *rest.Config, work func(context.Context, client.Client) error) error {
		c, err := client.New(cfg, client.Options{})
		if err != nil {
			return err
		}
		defer c.Close()
		elector, err := leader.New(c, leader.Options{Namespace: "shop", Name: "shop-operator"})
		if err != nil {
			return err
		}
		fenced := elector.Fenced(c)
		return elector.Run(ctx, func(ctx context.Context) error { return work(ctx, fenced) })
	}
	_ = operate // needs a cluster
}

// What happens to a write of a process that does not lead?
func ExampleElector_Fence() {
	c, err := client.New(&rest.Config{Host: "https://127.0.0.1:1"}, client.Options{})
	if err != nil {
		panic(err)
	}
	elector, err := leader.New(c, leader.Options{Namespace: "shop", Name: "shop-operator", Identity: "replica-1"})
	if err != nil {
		panic(err)
	}
	err = elector.Fence()(client.Call{Verb: "update"})
	_, not := errors.AsType[*leader.NotLeadingError](err)
	fmt.Println(not, err)
	// Output:
	// true "replica-1" does not surely hold the lease shop/shop-operator
}

// Which durations may I choose?
func ExampleNew() {
	c, err := client.New(&rest.Config{Host: "https://127.0.0.1:1"}, client.Options{})
	if err != nil {
		panic(err)
	}
	_, err = leader.New(c, leader.Options{Namespace: "shop", Name: "shop-operator", LeaseDuration: 60 * time.Second})
	fmt.Println(err) // the others follow: 40 s and 8 s
	_, err = leader.New(c, leader.Options{Namespace: "shop", Name: "shop-operator", RenewDeadline: 20 * time.Second})
	fmt.Println(err)
	// Output:
	// <nil>
	// leader.Options: RenewDeadline: 20s is not less than the LeaseDuration, 15s
}

// How does the election decide? Step by step, without a clock or a server.
func ExampleCore() {
	core := leader.NewCore(leader.Config{
		Lease: object.Key{Namespace: "shop", Name: "shop-operator"}, Identity: "replica-1",
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	})
	at := func(seconds int) leader.Time {
		d := time.Duration(seconds) * time.Second
		return leader.Time{Mono: d, Wall: time.Unix(0, 0).Add(d)}
	}
	fmt.Println(core.Next(at(0), 0).Do)
	other := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("replica-2"), LeaseDurationSeconds: new(int32(15))},
	}
	core.Answer(at(1), leader.Answer{Lease: other})
	core.Watching(at(1), true)
	core.Next(at(1), 0)
	core.Answer(at(1), leader.Answer{Lease: other})
	wait := core.Next(at(1), 0)
	fmt.Println(wait.Do, wait.Until, core.Phase())

	take := core.Next(at(16), 0)
	fmt.Println(take.Do, *take.Lease.Spec.HolderIdentity)
	take.Lease.ResourceVersion = "8"
	core.Answer(at(17), leader.Answer{Lease: take.Lease})
	fmt.Println(core.Phase(), "until", core.Until())

	core.Next(at(26), 0)
	fmt.Println(core.Phase(), core.Lost())
	// Output:
	// read
	// wait 16s standby
	// update replica-1
	// leading until 26s
	// lost lost the lease shop/shop-operator: not renewed in time
}
