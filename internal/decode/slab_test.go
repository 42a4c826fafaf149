package decode

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Values that share memory never overlap and are zero, and the next object uses other memory.
func TestSlabValuesNeverOverlap(t *testing.T) {
	all := blocks{}
	var some []*block
	for _, v := range []any{corev1.EnvVar{}, [75]uint64{}, false, int32(0), int64(0), int8(0), "", corev1.ObjectFieldSelector{}, corev1.EnvVarSource{}, corev1.VolumeProjection{}} {
		some = append(some, all.block(reflect.TypeOf(v)))
	}
	m := memory{slabs: make([]slab, len(all))}
	r := rand.New(rand.NewPCG(1, 2))
	taken := map[uintptr]bool{} // bytes
	var kept []unsafe.Pointer   // so that no address is reused
	for range long(30, 200) {
		for range r.IntN(60) {
			b, n := some[r.IntN(len(some))], 1+r.IntN(20)
			var p unsafe.Pointer
			if r.IntN(3) == 0 {
				g := m.open(b, r.IntN(3))
				for g.cap < n {
					m.grow(&g)
				}
				m.close(g, n)
				p = g.data
			} else {
				p = m.take(b, n)
			}
			kept = append(kept, p)
			if uintptr(p)%uintptr(b.t.Align()) != 0 {
				t.Fatalf("a value of %s at %v", b.t, p)
			}
			for i := range n {
				v := reflect.NewAt(b.t, unsafe.Add(p, uintptr(i)*b.size)).Elem()
				if !v.IsZero() {
					t.Fatalf("a value of %s is not zero", b.t)
				}
				for at := range b.size {
					if at += v.Addr().Pointer(); taken[at] {
						t.Fatalf("a value of %s is where another one is", b.t)
					} else {
						taken[at] = true
					}
				}
				if b.plain {
					*(*byte)(v.Addr().UnsafePointer()) = 1
				} else {
					*(*unsafe.Pointer)(v.Addr().UnsafePointer()) = unsafe.Pointer(&emptyList)
				}
			}
		}
		m.end()
		for _, b := range some {
			if s := m.slabs[b.layout.id]; len(m.used) != 0 || s.next != nil && !b.plain || s.remaining >= slabBytes {
				t.Fatal("the object is kept")
			}
		}
	}
	runtime.KeepAlive(kept)
}

// The next object of the same shape takes the memory it needs at once, and no more. Values without
// pointers share pieces with other objects.
func TestSlabIsSizedByTheLastObject(t *testing.T) {
	all := blocks{}
	mounts, envs, words := all.block(reflect.TypeFor[corev1.VolumeMount]()), all.block(reflect.TypeFor[corev1.EnvVar]()), all.block(reflect.TypeFor[int32]())
	m := memory{slabs: make([]slab, len(all))}
	object := func() {
		for range 9 {
			m.take(mounts, 1)
			m.take(words, 1)
		}
		for _, n := range []int{3, 5, 1} { // lists of these lengths
			g := m.open(envs, n)
			for n > g.cap {
				m.grow(&g)
			}
			m.close(g, n)
		}
	}
	for range 2 { // the second round makes the makers
		object()
		m.end()
	}
	pieces := testing.AllocsPerRun(70, func() { object(); m.end() })
	if pieces != 2 { // and one for the numbers of seven objects, rounded up
		t.Errorf("%v pieces of memory for values of two types", pieces)
	}
	object()
	for _, b := range []*block{mounts, envs} {
		if s := m.slabs[b.id]; s.remaining != 0 {
			t.Errorf("%d bytes too many for %s", s.remaining, b.t)
		}
	}
}

// Values that share memory are allocated as a type with the same pointers.
func TestLayoutTypeHasTheSamePointers(t *testing.T) {
	for _, tc := range []struct{ t, layout any }{
		{false, uint64(0)}, {int32(0), uint64(0)}, {float64(0), uint64(0)}, {"", ""}, {corev1.PodPhase(""), ""},
		{new(int), unsafe.Pointer(nil)}, {map[string]string{}, unsafe.Pointer(nil)}, {corev1.EnvVar{}, corev1.EnvVar{}}, {[]byte{}, []byte{}},
	} {
		if got, want := layoutType(reflect.TypeOf(tc.t)), reflect.TypeOf(tc.layout); got != want {
			t.Errorf("%T is allocated as %s, not as %s", tc.t, got, want)
		}
	}
}

// Values that only a shared piece points to are not collected.
func TestSharedPiecesKeepTheirValuesAlive(t *testing.T) {
	all := blocks{}
	fields, sources := all.block(reflect.TypeFor[corev1.ObjectFieldSelector]()), all.block(reflect.TypeFor[corev1.EnvVarSource]())
	m := memory{slabs: make([]slab, len(all))}
	var kept []*corev1.EnvVarSource
	for i := range 2000 {
		f, s := (*corev1.ObjectFieldSelector)(m.take(fields, 1)), (*corev1.EnvVarSource)(m.take(sources, 1))
		f.APIVersion, f.FieldPath = fmt.Sprint("version ", i), fmt.Sprint("path ", i)
		s.FieldRef = f
		if kept = append(kept, s); i%10 == 0 {
			m.end()
		}
		if i%500 == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	for i, s := range kept {
		if s.FieldRef.APIVersion != fmt.Sprint("version ", i) || s.FieldRef.FieldPath != fmt.Sprint("path ", i) {
			t.Fatalf("%d is now %v", i, s.FieldRef)
		}
	}
}

// Lists of one object do not overlap after an append.
func TestListsHaveNoRoom(t *testing.T) {
	p := usualPod(false)
	doc, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var got corev1.Pod
		if err := Protobuf(doc, &got); err != nil {
			t.Fatal(err)
		}
		for i := range got.Spec.Containers {
			c := &got.Spec.Containers[i]
			_, _, _ = append(c.Args, "more"), append(c.Env, corev1.EnvVar{Name: "MORE"}), append(c.VolumeMounts, corev1.VolumeMount{Name: "more"})
		}
		if !reflect.DeepEqual(&got, p) {
			t.Fatal(cmp.Diff(p, &got))
		}
	}
}

// Quantities equal parsed ones, in any order and number.
func TestCachedQuantitiesEqualParsedOnes(t *testing.T) {
	texts := []string{"", "0", "1", "100m", "1.5", "0.1", "1e3", "1E3", "12Ki", "128Mi", "1.5Gi", "-5", "+5", "1000", "1000m", "00100", ".5", "5.", "x", "1x", "99999999999999999999", "1234567890123456789012345", "1n", "1.0000000001", "0.0000000001", "1Ei", "100Ei", "-100Ei", "12345678901234567890Mi"}
	for i := range 2000 {
		texts = append(texts, fmt.Sprint(i), fmt.Sprintf("%dm", i*7), fmt.Sprintf("%dMi", i))
	}
	var group sync.WaitGroup
	for seed := range 4 {
		group.Go(func() {
			r, missed := rand.New(rand.NewPCG(uint64(seed), 1)), 0
			for range 20_000 {
				buf := []byte(texts[r.IntN(len(texts))])
				want, wrong := resource.ParseQuantity(string(buf))
				got, err := parseQuantity(buf, &missed)
				if (err == nil) != (wrong == nil) || !reflect.DeepEqual(got, want) {
					t.Errorf("%q: %#v %v, want %#v %v", buf, got, err, want, wrong)
					return
				}
				got.Add(got) // the caller may change its own
			}
		})
	}
	group.Wait()
	if !sharesNothing(new(resource.Quantity)) {
		t.Error("the layout of Quantity is not known, and nothing is remembered")
	}
	if big := resource.MustParse("1234567890123456789012345"); sharesNothing(&big) {
		t.Error("a number with a part of its own would be shared")
	}
}
