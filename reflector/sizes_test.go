package reflector_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

// Objects of every size come from plain lists, pages, streaming lists and watches as from the stock decoders.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		for _, paged := range []bool{false, true} {
			live, err := client.New(c.Config(t), client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sink := &decoding{t: t, c: c, all: map[string]object.Object{}}
			synced := make(chan struct{})
			r, err := reflector.New(live.Feed(c.GVK, client.Selection{}), sink, reflector.Options{
				Paged: paged, PageSize: c.Page,
				OnState: func(s reflector.State) {
					switch s.Phase {
					case reflector.Synced:
						close(synced)
					case reflector.Failing, reflector.Stale:
						t.Error(s.Err)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { _ = r.Run(ctx) })
			<-synced
			c.Await(t, sink.get)
			cancel(errors.New("the test is over"))
			wg.Wait()
			live.Close()
			var all []object.Object
			for _, o := range sink.all {
				all = append(all, o)
			}
			c.CheckCut(t, all, c.Last())
		}
	})
}

// decoding is a Sink that decodes all objects.
type decoding struct {
	t   *testing.T
	c   *sizes.Case
	mu  sync.Mutex
	all map[string]object.Object
	new map[string]object.Object
}

func (d *decoding) Commit() {}

func (d *decoding) Apply(u *reflector.Update) {
	d.mu.Lock()
	defer d.mu.Unlock()
	to := d.all
	if d.new != nil {
		to = d.new
	}
	switch u.What {
	case reflector.Replace:
		d.new = map[string]object.Object{}
	case reflector.Sweep:
		d.all, d.new = d.new, nil
	case reflector.Discard:
		d.new = nil
	case reflector.Delete:
		delete(to, u.Entry.Key().Name)
	case reflector.Put:
		o := d.c.Proto()
		if err := u.Entry.Decode(o); err != nil {
			d.t.Error(err)
		}
		to[o.GetName()] = o
	default:
		d.t.Error(u.What, u.Err)
	}
}

func (d *decoding) get(name string) object.Object {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[name]
}
