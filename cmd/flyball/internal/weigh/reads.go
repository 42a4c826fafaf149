package weigh

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

const (
	maxRead    = 100 // objects of a sample that are read
	readRounds = 7   // the least time of so many rounds counts: whatever else runs only adds to it
)

// Reads are the times of one read whose result the caller may change, in nanoseconds: the mean of a sample without
// managedFields.
type Reads struct {
	// Copy is a deep copy of the object that client-go holds. Get decodes it from the packed cache.
	Copy int64 `json:"copyNanoseconds,omitempty"`
	Get  int64 `json:"getNanoseconds,omitempty"`
}

// slower returns how much longer the packed read takes.
func (r Reads) slower() time.Duration { return time.Duration(r.Get - r.Copy) }

// measureReads reads the sample from a store that holds it, and copies what client-go would hold for it.
func (s *sample) measureReads(k *wire.Kind, from *store.Store) (r Reads) {
	var held []k8sruntime.Object
	var keys []object.Key
	for _, raw := range s.raws[:min(maxRead, len(s.raws))] {
		o, err := decoded(k, wire.CutManagedFields(nil, raw))
		key := keyOf(raw)
		if one, ok := o.(k8sruntime.Object); ok && err == nil && read(k, from, key) == nil {
			held, keys = append(held, one), append(keys, key)
		}
	}
	if len(held) == 0 {
		return r
	}
	copies, gets := time.Duration(1<<62), time.Duration(1<<62)
	for range readRounds {
		began := time.Now()
		for _, o := range held {
			runtime.KeepAlive(o.DeepCopyObject())
		}
		between := time.Now()
		for _, key := range keys {
			_ = read(k, from, key) // it could be read before
		}
		copies, gets = min(copies, between.Sub(began)), min(gets, time.Since(between))
	}
	n := int64(len(held))
	return Reads{Copy: max(1, int64(copies)/n), Get: max(1, int64(gets)/n)}
}

var errNotHeld = errors.New("the store does not hold it")

// read reads an object as the cache does.
func read(k *wire.Kind, from *store.Store, key object.Key) error {
	err := errNotHeld
	from.Look(key, func(e *store.Entry) {
		var into object.Object = &unstructured.Unstructured{}
		if t := k.GoType(); t != nil {
			into = reflect.New(t).Interface().(object.Object)
		}
		err = e.Decode(into)
	})
	return err
}

// muchSlower is from how much longer a read a report names its kind: at a thousand reads a second it is half a percent of
// a processor.
const muchSlower = 5 * time.Microsecond

// slower names the kinds whose reads take much longer than the deep copy of a reader of client-go's caches.
func (r *Report) slower() string {
	measured := 0
	var slow []Kind
	for _, k := range r.Kinds {
		if k.Copy > 0 {
			measured++
		}
		if k.slower() >= muchSlower {
			slow = append(slow, k)
		}
	}
	if measured == 0 {
		return ""
	}
	if len(slow) == 0 {
		return fmt.Sprintf("\nno read takes %v longer than the deep copy of a reader of client-go's caches\n", muchSlower)
	}
	slices.SortStableFunc(slow, func(a, b Kind) int { return cmp.Compare(b.slower(), a.slower()) })
	text := fmt.Sprintf("\na read takes at least %v longer than the deep copy of a reader of client-go's caches:\n", muchSlower)
	for _, k := range slow[:min(maxNamed, len(slow))] {
		text += fmt.Sprintf("  %s: %s in place of %s\n", k.Resource, lasting(k.Get), lasting(k.Copy))
	}
	if rest := len(slow) - maxNamed; rest > 0 {
		text += fmt.Sprintf("  and of more kinds: %d; -o wide has them all\n", rest)
	}
	return text
}

// lasting writes a time with two digits at least.
func lasting(ns int64) string {
	switch v := float64(ns); {
	case ns == 0:
		return "–"
	case v < 9_950:
		return fmt.Sprintf("%.1f µs", v/1000)
	case v < 999_500:
		return fmt.Sprintf("%.0f µs", v/1000)
	default:
		return fmt.Sprintf("%.1f ms", v/1e6)
	}
}
