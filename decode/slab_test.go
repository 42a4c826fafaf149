package decode

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Values that share memory never overlap, are zero, and the next object has others.
func TestSlab(t *testing.T) {
	all := blocks{}
	small, large := all.block(reflect.TypeFor[corev1.EnvVar]()), all.block(reflect.TypeFor[[600]byte]())
	m := memory{slabs: make([]slab, len(all))}
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[unsafe.Pointer]bool{}
	for range 200 {
		for range r.IntN(30) {
			n := 1 + r.IntN(20)
			for _, v := range unsafe.Slice((*corev1.EnvVar)(m.take(small, n)), n) {
				if v != (corev1.EnvVar{}) {
					t.Fatal("not zero")
				}
			}
			p := m.take(small, n)
			for i := range n {
				e := unsafe.Add(p, uintptr(i)*small.size)
				if seen[e] {
					t.Fatal("taken twice")
				}
				seen[e] = true
				(*corev1.EnvVar)(e).Name = "taken"
			}
			(*[600]byte)(m.take(large, 1))[0] = 1
		}
		m.end()
		if len(m.used) != 0 || m.slabs[small.id].next != nil || m.slabs[large.id].next != nil {
			t.Fatal("the object is kept")
		}
	}
}

// The next object of the same shape takes what it needs at once, and no more.
func TestSlabHint(t *testing.T) {
	all := blocks{}
	words, envs := all.block(reflect.TypeFor[uint64]()), all.block(reflect.TypeFor[corev1.EnvVar]())
	m := memory{slabs: make([]slab, len(all))}
	object := func() {
		for range 20 {
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
	for range 2 { // the second makes the makers
		object()
		m.end()
	}
	if pieces := testing.AllocsPerRun(1, func() { object(); m.end() }); pieces != 2 {
		t.Errorf("%v pieces of memory for values of two types", pieces)
	}
	object()
	for _, s := range m.slabs {
		if s.left != 0 {
			t.Errorf("%d values too many", s.left)
		}
	}
}

// Lists of one object do not run into each other when they are appended to.
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

// Quantities are those that parsing gives, however often and in whatever order they come.
func TestQuantities(t *testing.T) {
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
				got, err := parseQuantity(buf, seed%2 == 0, &missed)
				if (err == nil) != (wrong == nil) || !reflect.DeepEqual(got, want) {
					t.Errorf("%q: %#v %v, want %#v %v", buf, got, err, want, wrong)
					return
				}
				got.Add(got) // what one does with his own is his own
			}
		})
	}
	group.Wait()
	if !flat(new(resource.Quantity)) {
		t.Error("the layout of Quantity is not known, and nothing is remembered")
	}
	if big := resource.MustParse("1234567890123456789012345"); flat(&big) {
		t.Error("a number with a part of its own would be shared")
	}
}
