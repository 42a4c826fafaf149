package clientgo

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// Typed is a [Factory] for the generated informers of an API group, whose NewInformerFunc is F. It shares its
// informers with the factory: one Start, one Shutdown.
type Typed[F ~func(C, time.Duration) toolscache.SharedIndexInformer, C any] struct {
	*Factory
	prober *prober[C]
}

// Of returns the factory for the informers that informer-gen has generated for another clientset. F is the
// NewInformerFunc of their package internalinterfaces, and newForConfig that of the clientset:
//
//	of, err := clientgo.Of[internalinterfaces.NewInformerFunc](factory, versioned.NewForConfig)
//	foos := samplecontroller.New(of, factory.Namespace(), nil).V1alpha1().Foos()
//
// The scheme of the factory must have the types: pass WithScheme. The error is that of newForConfig, or says that its
// clients are not those of F.
func Of[F ~func(C, time.Duration) toolscache.SharedIndexInformer, C, S any](f *Factory, newForConfig func(*rest.Config) (S, error)) (*Typed[F, C], error) {
	l, err := newProber[C](newForConfig)
	if err != nil {
		return nil, fmt.Errorf("clientgo: %w", err)
	}
	return &Typed[F, C]{Factory: f, prober: l}, nil
}

// InformerFor is [Factory.InformerFor].
func (t *Typed[F, C]) InformerFor(o runtime.Object, newFunc F) toolscache.SharedIndexInformer {
	return informerFor(t.Factory, o, func(resync time.Duration) (*template, error) {
		if newFunc == nil {
			return nil, errNoFunc
		}
		return t.prober.probe(resync, newFunc)
	})
}
