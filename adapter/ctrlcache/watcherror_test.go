package ctrlcache_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/adapter/internal/refused"
)

// Whatever the server answers, the handler of watch errors finds it as an error of apimachinery.
func TestWatchErrorsAreStatusErrors(t *testing.T) {
	refused.Run(t, func(cfg *rest.Config, told func(error)) {
		c, err := ctrlcache.New(cfg, crcache.Options{
			Mapper:                   live(t).RESTMapper(),
			DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) { told(err) },
		})
		must(t, err)
		run(t, c.Start)
		_, err = c.GetInformer(t.Context(), &corev1.Node{}, crcache.BlockUntilSynced(false))
		must(t, err)
	})
}
