package child

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Once makes the child with a name exist, and leaves it alone as soon as it does: for values that are generated, such
// as a password or a key. It calls generate only if the server has no child of the name, or if the program may not read
// it there, and at most once. It applies what that returns, in the namespace of the owner. It returns the child as it
// is, and whether it was created.
//
// If two calls generate at the same time, one child is created, and both return it. The errors are those of [Ensure],
// and that of generate. [Adopt], [Force], [TakeOver] and [Recreate] have no effect. P must be a Go type of the scheme.
func Once[T any, P object.Ptr[T]](ctx context.Context, c client.Client, owner object.Object, name string, generate func() (P, error), opts ...Option) (P, Change, error) {
	if object.Untyped(P(new(T))) {
		return nil, Unchanged, invalid("generate", fmt.Sprintf("returns a %T: the kind of the child must be known before it is called", P(nil)))
	}
	stub := P(new(T))
	stub.SetName(name)
	e, err := newEnsure(c, owner, false, stub, append(slices.Clip(opts), asOnce))
	if err != nil {
		return nil, Unchanged, err
	}
	e.generate = func() error {
		desired, err := generate()
		switch {
		case err != nil:
			return err
		case desired == nil:
			return invalid("generate", "returns nil")
		case desired.GetName() != "" && desired.GetName() != name:
			return invalid("generate", fmt.Sprintf("returns an object of the name %q, not %q", desired.GetName(), name))
		}
		return e.build(desired, name)
	}
	return runTyped[T, P](ctx, e)
}

// asOnce makes the options those of a child that is never changed.
func asOnce(o *options) {
	o.once, o.adopt, o.force, o.takeOver, o.recreate = true, false, false, nil, false
}

// repeat is how often in a row a child differed in a field.
type repeat struct {
	field string
	times int
}

const (
	// maxRepeats bounds the children that are counted, and repeatAge how long one is.
	maxRepeats, repeatAge = 4096, 24 * time.Hour
	// warnRepeated is how often in a row a child differs in one field before a warning says so.
	warnRepeated = 5
)

// repeated has the repeats of children by uid. It counts the calls of this process, for a warning only.
var repeated = cache.NewLRUExpireCache(maxRepeats)

// noteRepeat counts a difference, and returns how often it was the same.
func noteRepeat(uid types.UID, field string) int {
	known, _ := repeated.Get(uid)
	x, _ := known.(repeat)
	if x.field != field {
		x = repeat{field: field}
	}
	x.times++
	repeated.Add(uid, x, repeatAge)
	return x.times
}
