package corpus

import (
	"bytes"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func clusterOf(t testing.TB, objects int) *Cluster {
	t.Helper()
	c, err := NewCluster(objects, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A cluster has as many objects as asked for, of all kinds, with unique keys, and the same seed makes
// the same bytes.
func TestCluster(t *testing.T) {
	for _, objects := range []int{200, 1500} {
		c, again := clusterOf(t, objects), clusterOf(t, objects)
		keys, count, size := map[string]bool{}, make([]int, len(c.Resources())), make([]int, len(c.Resources()))
		for i := range c.Len() {
			o := c.At(i)
			b := encode(t, o)
			if !bytes.Equal(b, encode(t, again.At(i))) {
				t.Fatalf("%s differs", o.GetName())
			}
			keys[fmt.Sprint(c.KindOf(i), o.GetNamespace(), "/", o.GetName())] = true
			keys[string(o.GetUID())] = true
			count[c.KindOf(i)]++
			size[c.KindOf(i)] += len(b)
		}
		if c.Len() != objects || len(keys) != 2*objects {
			t.Errorf("%d objects, %d keys and uids", c.Len(), len(keys))
		}
		for kind, r := range c.Resources() {
			if count[kind] == 0 {
				t.Errorf("no %s", r.GVR.Resource)
				continue
			}
			t.Logf("%6d %-15s %6d bytes of JSON each", count[kind], r.GVR.Resource, size[kind]/count[kind])
		}
	}
}

// The sizes of owners are those that the comment of ownerSizes says.
func TestOwnerSizes(t *testing.T) {
	sizes := ownerSizes(10_000, clusterOf(t, 200).rand("", 0))
	one, ten, tail := 0, 0, 0
	for _, n := range sizes {
		if n == 1 {
			one++
		}
		if n <= 10 {
			ten++
		}
		if n > 100 {
			tail += n
		}
	}
	all := total(sizes)
	if mean := float64(all) / 1e4; mean < 4.4 || mean > 4.7 || one < 6000 || one > 6200 || ten < 9350 || ten > 9500 || tail < all*28/100 || tail > all*34/100 {
		t.Errorf("mean %.2f, %d of one, %d of at most ten, %d of %d in large ones", mean, one, ten, tail, all)
	}
}

// A churn makes, changes and deletes what exists, each step changes its object, and a longer churn
// begins with a shorter one.
func TestClusterChurn(t *testing.T) {
	c := clusterOf(t, 1000)
	churn, shorter := c.Churn(4000), c.Churn(1000)
	last, kinds, made, deleted := map[int][]byte{}, map[int]int{}, 0, 0
	for i := range c.Len() {
		last[i] = encode(t, c.At(i))
	}
	for k, step := range churn.Steps {
		o := churn.Object(k)
		o.SetResourceVersion(fmt.Sprint(FirstVersion + c.Len() + 1 + k))
		b := encode(t, o)
		before, there := last[step.Object]
		switch {
		case !there:
			made++
		case step.Deleted:
			deleted++
		case bytes.Equal(unversioned(t, o), before):
			t.Fatalf("step %d does not change %s %s", k, o.GetObjectKind().GroupVersionKind().Kind, o.GetName())
		}
		if !there && step.Deleted {
			t.Fatalf("step %d deletes %s again", k, o.GetName())
		}
		if there && !sameObject(before, b) {
			t.Fatalf("step %d is another object\n%s\n%s", k, before, b)
		}
		last[step.Object] = unversioned(t, o)
		if step.Deleted {
			delete(last, step.Object)
		}
		kinds[step.Kind]++
		if k < len(shorter.Steps) && (step != shorter.Steps[k] || k%50 == 0 && !bytes.Equal(last[step.Object], unversioned(t, shorter.Object(k))) && !step.Deleted) {
			t.Fatalf("step %d differs", k)
		}
	}
	if made == 0 || deleted == 0 || len(last) < c.Len()*8/10 || len(last) > c.Len()*13/10 {
		t.Errorf("%d made, %d deleted, %d left of %d", made, deleted, len(last), c.Len())
	}
	for kind, r := range c.Resources() {
		t.Logf("%6d events of %s", kinds[kind], r.GVR.Resource)
	}
}

// unversioned returns an object without its version.
func unversioned(t *testing.T, o Object) []byte {
	o.SetResourceVersion("")
	return encode(t, o)
}

// sameObject reports whether two encoded objects have the same uid.
func sameObject(a, b []byte) bool {
	at := func(b []byte) string {
		_, after, _ := bytes.Cut(b, []byte(`"uid":"`))
		return string(after[:36])
	}
	return at(a) == at(b)
}

// A Pod of a cluster has the size of real ones, and apps differ.
func TestClusterPods(t *testing.T) {
	c, sum, n := clusterOf(t, 3000), 0, 0
	least, most := 1<<20, 0
	for i := range c.Len() {
		if c.KindOf(i) != podKind {
			continue
		}
		size := c.At(i).(*corev1.Pod).Size()
		least, most, sum, n = min(least, size), max(most, size), sum+size, n+1
	}
	t.Logf("%d Pods: %d to %d bytes of protobuf, %d on average", n, least, most, sum/n)
	if least < 3000 || most > 20_000 || most < 2*least {
		t.Errorf("%d to %d", least, most)
	}
}

// A part of a cluster has the objects and the changes of one kind.
func TestPart(t *testing.T) {
	c := clusterOf(t, 400)
	for kind, r := range c.Resources() {
		p, err := PartOf(c, r.GVR.Resource)
		if err != nil {
			t.Fatal(err)
		}
		there := map[int]bool{}
		for i := range p.Len() {
			there[i] = true
		}
		if p.Len() == 0 || p.Resources()[0] != r {
			t.Errorf("%d objects of %v", p.Len(), p.Resources())
		}
		churn := p.Churn(50)
		for k, step := range churn.Steps {
			if want := c.make(c.refs[p.(*part).objects[0]], state{}); fmt.Sprintf("%T", churn.Object(k)) != fmt.Sprintf("%T", want) {
				t.Fatalf("%s: step %d is a %T", r.GVR.Resource, k, churn.Object(k))
			}
			if step.Kind != 0 || step.Deleted && !there[step.Object] || step.Object >= p.Len()+50 {
				t.Fatalf("%s: step %d is %+v", r.GVR.Resource, k, step)
			}
			there[step.Object] = !step.Deleted
		}
		if len(churn.Steps) != 50 {
			t.Errorf("%d steps of kind %d", len(churn.Steps), kind)
		}
	}
}
