package ctrlcache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/object"
)

// Objects of every size are read as from the stock decoders.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		held, err := ctrlcache.New(c.Config(t), crcache.Options{})
		must(t, err)
		run(t, held.Start)
		ctx := bounded(t)
		get := func(name string) object.Object {
			o := c.Proto()
			err := held.Get(ctx, crclient.ObjectKey{Namespace: sizes.Namespace, Name: name}, o)
			if apierrors.IsNotFound(err) {
				return nil
			}
			must(t, err)
			return o
		}
		c.Await(t, get)
		var all []object.Object
		if c.GVK.Kind == "ConfigMap" {
			var list corev1.ConfigMapList
			must(t, held.List(ctx, &list))
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		} else {
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(c.GVK)
			must(t, held.List(ctx, &list))
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		}
		c.Check(t, all, c.Last())
	})
}
