package wire_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/wire"
)

type threeFields struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct{ Phase corev1.PodPhase }
}

type widgetView struct {
	Metadata struct{ Name string }
	Spec     struct{ Size int }
	Status   struct{ Phase string }
}

// bigWidget is a custom resource of about 10 kB.
func bigWidget() wire.Raw {
	var b strings.Builder
	b.WriteString(`,"spec":{"size":3,"rules":[`)
	for i := range 40 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"rule-%02d","enabled":true,"weight":%d,"match":{"host":"shop-%02d.example.com","path":"/api/v1/orders","methods":["GET","POST"]},`+
			`"target":{"service":"backend-%02d","port":8080,"timeoutSeconds":30},"retry":{"attempts":3,"on":["5xx","reset"]}}`, i, i*3, i, i)
	}
	b.WriteString(`]},"status":{"conditions":[{"type":"Ready","status":"True"}],"observedGeneration":4,"phase":"Ready"}`)
	return wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: thing("shop", b.String())}
}

func benchProject[V any](b *testing.B, r wire.Raw) {
	b.SetBytes(int64(len(r.Bytes)))
	b.ReportAllocs()
	for b.Loop() {
		var v V
		if err := r.Project(&v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProject has views beside the header, the whole object, and a deep copy of it.
func BenchmarkProject(b *testing.B) {
	pod, widget := wire.CutManagedFields(nil, raw(b, wire.Protobuf, pods, bigPod(1))), bigWidget()
	b.Run("pod/3 fields", func(b *testing.B) { benchProject[threeFields](b, pod) })
	b.Run("pod/3 fields and labels", func(b *testing.B) {
		benchProject[struct {
			threeFields
			Labels map[string]string `field:"metadata.labels"`
		}](b, pod)
	})
	b.Run("pod/images", func(b *testing.B) {
		benchProject[struct {
			Spec struct{ Containers []struct{ Image string } }
		}](b, pod)
	})
	b.Run("pod/with managedFields", func(b *testing.B) {
		benchProject[threeFields](b, raw(b, wire.Protobuf, pods, bigPod(1)))
	})
	b.Run("pod/json", func(b *testing.B) {
		benchProject[threeFields](b, wire.CutManagedFields(nil, raw(b, wire.JSON, pods, bigPod(1))))
	})
	b.Run("widget/3 fields", func(b *testing.B) { benchProject[widgetView](b, widget) })
	b.Run("pod/json from a store", func(b *testing.B) {
		cut := wire.CutManagedFields(nil, raw(b, wire.JSON, pods, bigPod(1)))
		benchProject[threeFields](b, wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: cut.Bytes}.Checked())
	})
	b.Run("widget/3 fields from a store", func(b *testing.B) { benchProject[widgetView](b, widget.Checked()) })
	for name, r := range map[string]wire.Raw{"pod": pod, "widget": widget} {
		b.Run(name+"/header", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Header(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("pod/decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := pod.Decode(new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pod/deep copy", func(b *testing.B) {
		p := new(corev1.Pod)
		if err := pod.Decode(p); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			p.DeepCopy()
		}
	})
	b.Run("widget/decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := widget.Decode(new(unstructured.Unstructured)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("widget/deep copy", func(b *testing.B) {
		u := new(unstructured.Unstructured)
		if err := widget.Decode(u); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			u.DeepCopy()
		}
	})
}
