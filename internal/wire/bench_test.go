package wire_test

import (
	"bytes"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

func benchBoth(b *testing.B, bench func(*testing.B, wire.Encoding)) {
	for _, enc := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		b.Run(enc.String(), func(b *testing.B) { bench(b, enc) })
	}
}

func BenchmarkHeader(b *testing.B) {
	benchBoth(b, func(b *testing.B, enc wire.Encoding) {
		r := raw(b, enc, pods, bigPod(1))
		b.SetBytes(int64(len(r.Bytes)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Header(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The digests come with the header, in the same pass.
func BenchmarkScan(b *testing.B) {
	bench := func(name string, r wire.Raw) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Bytes)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := r.Scan(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, enc := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		r := raw(b, enc, pods, bigPod(1))
		bench(enc.String(), r)
		bench(enc.String()+" without managedFields", wire.CutManagedFields(nil, r))
		if enc == wire.JSON {
			bench("json from anywhere", wire.Raw{Kind: r.Kind, Encoding: r.Encoding, Bytes: r.Bytes})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name string
		into object.Object
	}{{"typed", new(corev1.Pod)}, {"metadata", new(metav1.PartialObjectMetadata)}, {"unstructured", new(unstructured.Unstructured)}} {
		b.Run(c.name, func(b *testing.B) {
			benchBoth(b, func(b *testing.B, enc wire.Encoding) {
				r := raw(b, enc, pods, bigPod(1))
				b.ReportAllocs()
				for b.Loop() {
					if err := r.Decode(c.into); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkCutManagedFields(b *testing.B) {
	benchBoth(b, func(b *testing.B, enc wire.Encoding) {
		r := raw(b, enc, pods, bigPod(1))
		b.ReportAllocs()
		for b.Loop() {
			wire.CutManagedFields(nil, r)
		}
	})
}

func BenchmarkPathValues(b *testing.B) {
	for _, path := range []string{"spec.nodeName", "metadata.labels[app]", "spec.containers[*].image"} {
		b.Run(path, func(b *testing.B) {
			benchBoth(b, func(b *testing.B, enc wire.Encoding) {
				r, p := raw(b, enc, pods, bigPod(1)), compile(b, pods, path)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Values(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// The figures of lists and watches are for one object.

func BenchmarkList(b *testing.B) {
	benchBoth(b, func(b *testing.B, enc wire.Encoding) {
		in := stock(b, enc, podList(500))
		b.SetBytes(int64(len(in) / 500))
		b.ReportAllocs()
		var l *wire.List
		for b.Loop() {
			if l != nil {
				if _, err := l.Next(); err == nil {
					continue
				} else if err != io.EOF {
					b.Fatal(err)
				}
			}
			var err error
			if l, err = wire.NewList(body(in), contentType(enc), pods, wire.Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWatch(b *testing.B) {
	benchBoth(b, func(b *testing.B, enc wire.Encoding) {
		in, _ := stockWatch(b, enc, event{"MODIFIED", typedPod(1)})
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		w, err := wire.NewWatch(io.NopCloser(&repeat{in: in}), watchType(enc), pods, wire.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := w.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// repeat reads the same bytes over and over.
type repeat struct {
	in []byte
	r  bytes.Reader
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.r.Len() == 0 {
		r.r.Reset(r.in)
	}
	return r.r.Read(p)
}

func BenchmarkEncode(b *testing.B) {
	benchBoth(b, func(b *testing.B, enc wire.Encoding) {
		p := bigPod(1)
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := wire.Encode(p, pods.GVK, enc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
