package clientgo_test

import (
	"testing"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/object"
)

// Objects of every size come to stores and handlers as from the stock decoders.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		in, err := clientgo.NewSharedIndexInformer(c.Config(t), c.Proto(), 0, toolscache.Indexers{})
		must(t, err)
		told := make(chan object.Object, 100)
		handle, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { told <- o.(object.Object) },
			UpdateFunc: func(_, o any) { told <- o.(object.Object) },
		})
		must(t, err)
		ctx := bounded(t)
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			in.Run(stop)
			close(done)
		}()
		defer func() {
			close(stop)
			<-done
		}()
		if !toolscache.WaitForCacheSync(ctx.Done(), in.HasSynced, handle.HasSynced) {
			t.Fatal("not synced")
		}
		c.Await(t, func(name string) object.Object {
			o, _, err := in.GetIndexer().GetByKey(sizes.Namespace + "/" + name)
			must(t, err)
			got, _ := o.(object.Object)
			return got
		})
		var all []object.Object
		for _, o := range in.GetIndexer().List() {
			all = append(all, o.(object.Object))
		}
		c.Check(t, all, c.Last())
		last := map[string]object.Object{}
		for _, o := range c.Last() {
			last[o.GetName()+o.GetResourceVersion()] = o
		}
		for len(last) > 0 {
			select {
			case o := <-told:
				if want := last[o.GetName()+o.GetResourceVersion()]; want != nil {
					c.CheckOne(t, o, want, false)
					delete(last, o.GetName()+o.GetResourceVersion())
				}
			case <-ctx.Done():
				t.Fatal("a handler was not told of ", len(last), " objects")
			}
		}
	})
}
