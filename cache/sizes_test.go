package cache_test

import (
	"context"
	"testing"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/object"
)

// Objects of every size are packed, and read again as from the stock decoders.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		live, err := client.New(c.Config(t), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		held, err := cache.New(cache.Connect(live), cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- held.Run(ctx) }()
		defer func() {
			cancel(errEnd)
			<-done
		}()
		if _, err := held.Open(ctx, c.Proto(), client.Selection{}); err != nil {
			t.Fatal(err)
		}
		if err := held.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		get := func(name string) object.Object {
			o := c.Proto()
			err := held.Get(ctx, object.Key{Namespace: sizes.Namespace, Name: name}, o, client.GetOptions{})
			if client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if err != nil {
				return nil
			}
			return o
		}
		c.Await(t, get)
		var all []object.Object
		for o, err := range held.List(ctx, c.Proto(), client.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
		c.CheckCut(t, all, c.Last())
		for _, o := range c.Last() {
			c.CheckOne(t, get(o.GetName()), o, true)
		}
	})
}
