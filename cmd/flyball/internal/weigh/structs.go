package weigh

import (
	"fmt"
	"reflect"
	"runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/json"

	"github.com/flyball-io/flyball/internal/wire"
)

const (
	maxSample      = 500     // objects
	maxSampleBytes = 1 << 20 // of them
	// leastDecoded is how many bytes are decoded at least: objects of a small sample are decoded more
	// than once, so that what else happens in the process does not count.
	leastDecoded = 256 << 10
)

// sample holds every n-th object. It holds no more than maxSample objects and maxSampleBytes, but one
// at least: if there are more, it drops every second one and doubles n.
type sample struct {
	raws  []wire.Raw
	bytes int
	step  int
	seen  int // objects, those that are not in the sample included
}

// offer shows the sample an object. It copies the bytes that it keeps.
func (s *sample) offer(raw wire.Raw) {
	s.step = max(s.step, 1)
	if s.seen++; (s.seen-1)%s.step != 0 {
		return
	}
	s.raws = append(s.raws, raw.Clone())
	s.bytes += len(raw.Bytes)
	for len(s.raws) > 1 && (len(s.raws) > maxSample || s.bytes > maxSampleBytes) {
		s.step *= 2
		kept := s.raws[:0]
		s.bytes = 0
		for i := 0; i < len(s.raws); i += 2 {
			kept = append(kept, s.raws[i])
			s.bytes += len(s.raws[i].Bytes)
		}
		clear(s.raws[len(kept):])
		s.raws = kept
	}
}

// structs is what the structs of a sample take, beside the bytes that they were decoded from.
type structs struct {
	objects       int
	wire, wireCut int64
	whole, cut    int64
}

// structs decodes the sample and measures the memory. It calls problem for each object that cannot be
// decoded. No other goroutine may allocate meanwhile.
func (s *sample) structs(k *wire.Kind, problem func(error)) (m structs) {
	var whole, cut []wire.Raw
	for _, raw := range s.raws {
		if _, err := decoded(k, raw); err != nil {
			problem(fmt.Errorf("%s %s cannot be decoded: %w", k.GVK.Kind, keyOf(raw), err))
			continue
		}
		small := wire.CutManagedFields(nil, raw)
		whole, cut = append(whole, raw), append(cut, small)
		m.wire += int64(len(raw.Bytes))
		m.wireCut += int64(len(small.Bytes))
	}
	m.objects = len(whole)
	if m.objects == 0 {
		return m
	}
	rounds := int(1 + leastDecoded/(m.wire+1))
	m.whole = footprint(k, whole, rounds)
	m.cut = footprint(k, cut, rounds)
	return m
}

// footprint returns the bytes that the decoded objects take. It decodes them several times, and divides.
func footprint(k *wire.Kind, raws []wire.Raw, rounds int) int64 {
	all := make([]any, 0, rounds*len(raws))
	before := heapInUse()
	for range rounds {
		for _, raw := range raws {
			o, _ := decoded(k, raw) // it was decoded before
			all = append(all, o)
		}
	}
	after := heapInUse()
	runtime.KeepAlive(all)
	runtime.KeepAlive(raws) // they count before, so they must count afterwards
	return max(0, int64(after-before)) / int64(rounds)
}

// heapInUse returns the bytes of live objects in the Go heap. It collects until nothing more is freed: pools and what
// waits for a finalizer go with a later collection only, and what a goroutine holds when that has ended.
func heapInUse() uint64 {
	const least = 4 << 10
	var m runtime.MemStats
	for round, last := 0, uint64(0); ; round, last = round+1, m.HeapAlloc {
		runtime.GC()
		runtime.ReadMemStats(&m)
		if round > 1 && last < m.HeapAlloc+least {
			return m.HeapAlloc
		}
	}
}

// decoded decodes an object as client-go does: by the generated code of its Go type, by the JSON
// decoder of Kubernetes, or into an unstructured object if the scheme has no type.
func decoded(k *wire.Kind, raw wire.Raw) (any, error) {
	t := k.GoType()
	if t == nil {
		u := &unstructured.Unstructured{}
		err := json.UnmarshalCaseSensitivePreserveInts(raw.Bytes, &u.Object)
		if err == nil && u.Object != nil {
			u.SetGroupVersionKind(k.GVK) // some lists omit it
		}
		return u, err
	}
	o := reflect.New(t).Interface()
	if m, ok := o.(interface{ Unmarshal([]byte) error }); ok && raw.Encoding == wire.Protobuf {
		return o, m.Unmarshal(raw.Bytes)
	}
	return o, json.UnmarshalCaseSensitivePreserveInts(raw.Bytes, o)
}
