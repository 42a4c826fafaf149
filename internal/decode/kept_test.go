package decode

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/tier"
)

// One short string that is kept of each object keeps little more than itself, whichever it is, from small and large
// documents, owned or not.
func TestAKeptStringKeepsLittle(t *testing.T) {
	tier.Audit(t, "measures the heap")
	fields := map[string]func(*corev1.Pod) string{
		"name":       func(p *corev1.Pod) string { return p.Name },
		"label":      func(p *corev1.Pod) string { return p.Labels["app"] },
		"annotation": func(p *corev1.Pod) string { return p.Annotations["short"] },
		"owner":      func(p *corev1.Pod) string { return p.OwnerReferences[0].Name },
		"node":       func(p *corev1.Pod) string { return p.Spec.NodeName },
		"image":      func(p *corev1.Pod) string { return p.Spec.Containers[0].Image },
	}
	for name, form := range forms {
		for _, size := range []int{3_000, 30_000} {
			var docs [400][]byte
			for i := range docs {
				var err error
				if docs[i], err = form.write(podNumber(i, size)); err != nil {
					t.Fatal(err)
				}
			}
			for what, read := range map[string]func([]byte, any) error{"copied": form.read, "owned": func(b []byte, into any) error { return form.owns(bytes.Clone(b), into) }} {
				for field, get := range fields {
					var kept [len(docs)]string
					keep := func() {
						for i, doc := range docs {
							var p corev1.Pod
							if err := read(doc, &p); err != nil {
								t.Fatal(err)
							}
							kept[i] = get(&p)
						}
					}
					keep() // the tables are made, and the pools are full
					clear(kept[:])
					before := heapInUse()
					keep()
					if each := (heapInUse() - before) / len(docs); each > 200+50 { // the strings have up to 50 bytes
						t.Errorf("%s, %d bytes, %s: a kept %s costs %d bytes", name, size, what, field, each)
					}
					runtime.KeepAlive(&kept)
				}
			}
			runtime.KeepAlive(&docs)
		}
	}
}

// podNumber is a Pod with texts of its own everywhere.
func podNumber(i, size int) *corev1.Pod {
	p := usualPod(false)
	own := strings.Repeat(string(rune('a'+i%26)), 1+i%7) + "-" + strings.Repeat("x", i%40)
	p.Name, p.Spec.NodeName = own+"name", own+"node"
	p.Labels = map[string]string{"app": own + "app"}
	p.Annotations = map[string]string{"short": own + "short", "long": strings.Repeat("l", size/2)}
	p.OwnerReferences[0].Name = own + "owner"
	p.Spec.Containers[0].Image = own + "image"
	p.Spec.Containers[0].Args = []string{strings.Repeat("arg", size/6)}
	return p
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
