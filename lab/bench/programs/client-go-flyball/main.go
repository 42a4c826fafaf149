// Command client-go-flyball is the contender of that name: client-go with packed informers. Command compare starts
// it and sends it its job.
package main

import (
	"k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender"
	peer "github.com/flyball-io/flyball/lab/bench/contender/clientgo"
	"github.com/flyball-io/flyball/lab/bench/corpus"
)

func main() { contend.Main(peer.With(contender.PackedClientGo, packed, offHeap)) }

func packed(o contender.Options, k contender.Kind, indexers cache.Indexers) (cache.SharedIndexInformer, error) {
	more := clientgo.With(clientgo.Options{CutManagedFields: o.Best, Mapper: o.Mapper()})
	return clientgo.NewSharedIndexInformer(o.Config, k.Blank(), 0, indexers, clientgo.WithScheme(corpus.Scheme), more)
}

// offHeap returns the bytes outside the Go heap.
func offHeap(in cache.SharedIndexInformer) int64 {
	packed, _ := clientgo.From(in)
	if packed.Packed() == nil {
		return 0
	}
	return packed.Packed().Figures().Store.OffHeap
}
