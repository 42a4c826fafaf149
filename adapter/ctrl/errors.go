package ctrl

import (
	"errors"
	"fmt"

	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/store"
)

var errNoMetadata = errors.New("its Go type has no metadata")

// translate gives an error the form that programs of controller-runtime look for.
func translate(err error) error {
	if e, ok := errors.AsType[*client.MissingError](err); ok { // programs of controller-runtime ask for NotFound
		return objects.NotFound(e.Object, e.Name, err)
	}
	if e, ok := errors.AsType[*store.UnknownIndexError](err); ok {
		return fmt.Errorf("%w: the cache answers lists of this kind, and has no index %q: declare it by IndexField of ctrl.NewCache, or by cache.IndexField", err, e.Index)
	}
	return objects.StatusError(err)
}
