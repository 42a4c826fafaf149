package contender

import (
	"context"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/client"
)

// Some is ByIndex, but for the first few of what it finds.
func Some(c Contender, value string, few int) (int, error) {
	return c.(interface {
		some(value string, few int) (int, error)
	}).some(value, few)
}

func (f *flyballs) some(value string, few int) (n int, err error) {
	o, err := client.NewListOptions(client.MatchingFields{indexPath(f.o.Resource): value})
	if err != nil {
		return 0, err
	}
	for _, err := range f.cache.List(context.Background(), f.proto, o) {
		if err != nil {
			return n, err
		}
		if n++; n == few {
			break
		}
	}
	return n, nil
}

func (c *clientGo) some(value string, few int) (int, error) {
	all, err := c.informer.GetIndexer().ByIndex(indexPath(c.o.Resource), value)
	all = all[:min(few, len(all))]
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

func (c *controllerRuntime) some(value string, few int) (int, error) {
	l := c.o.blankList().(crclient.ObjectList)
	fields := crclient.MatchingFields{indexPath(c.o.Resource): value}
	if err := c.cache.List(context.Background(), l, fields, crclient.Limit(few)); err != nil {
		return 0, err
	}
	return meta.LenList(l), nil
}
