package leader_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/ops/leader"
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
	// true "replica-1" is not known to hold the lease shop/shop-operator
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
