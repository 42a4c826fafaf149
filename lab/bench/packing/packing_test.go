package packing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// run is one corpus in one form.
type run struct {
	spec corpus.Spec
	json bool
	self bool // without templates
	objs int  // number of objects to take from the corpus
}

func (r run) String() string {
	form, how := "protobuf", ""
	if r.json {
		form = "json"
	}
	if r.spec.ManagedFields {
		how = "-managed"
	}
	if r.self {
		how += "-self"
	}
	return fmt.Sprintf("%s-%d%s-%s", r.spec.Kind, r.spec.Owners, how, form)
}

func runs() []run {
	var all []run
	for _, managed := range []bool{true, false} {
		for _, owners := range []int{50, 5000} {
			for _, asJSON := range []bool{false, true} {
				all = append(all, run{spec: corpus.Spec{Kind: "pods", Objects: 100_000, Owners: owners, ManagedFields: managed}, json: asJSON, objs: 4000})
			}
		}
	}
	for _, kind := range []string{"deployments", "nodes", "configmaps", "secrets", "events", "widgets"} {
		for _, self := range []bool{false, true} {
			for _, asJSON := range []bool{false, true} {
				if kind == "widgets" && !asJSON {
					continue
				}
				all = append(all, run{spec: corpus.Spec{Kind: kind, Objects: 100_000, Owners: 50, ManagedFields: true}, json: asJSON, self: self, objs: 2000})
			}
		}
	}
	return all
}

// load encodes the objects: some of every tenth owner's, or all of the first owners'.
func (r run) load(b *testing.B) (objs [][]byte, owner []int) {
	for k := range r.objs {
		i := k
		if r.spec.Owners == 50 {
			i = k * (r.spec.Objects / r.objs)
		}
		o := r.spec.At(i)
		var raw []byte
		var err error
		if m, ok := o.(interface{ Marshal() ([]byte, error) }); ok && !r.json {
			raw, err = m.Marshal()
		} else {
			o.GetObjectKind().SetGroupVersionKind(r.spec.GVK())
			raw, err = json.Marshal(o)
		}
		if err != nil {
			b.Fatal(err)
		}
		objs = append(objs, raw)
		of := 0
		if r.spec.Kind == "pods" || r.spec.Kind == "widgets" || r.spec.Kind == "deployments" {
			of = i * r.spec.Owners / r.spec.Objects
		}
		owner = append(owner, of)
	}
	return objs, owner
}

// packed are the records of a run.
type packed struct {
	objs, records, templates [][]byte // templates beside each record
	own                      []*pack.Template
	p                        pack.Packer
	wire, record, template   int // bytes
}

func (r run) pack(b *testing.B) *packed {
	x := &packed{}
	p := &x.p
	objs, owner := r.load(b)
	first := map[int]*pack.Template{}
	var parent *pack.Template
	for i, o := range objs {
		t := first[owner[i]]
		if t == nil && !r.self {
			t = pack.NewTemplate(o)
			first[owner[i]] = t
			x.template += len(p.Append(nil, parent, nil, o))
			if parent == nil {
				parent = t
			}
		}
		rec := p.Append(nil, t, nil, o)
		var tb []byte
		if t != nil {
			tb = t.Bytes()
		}
		if got, err := pack.Unpack(nil, tb, nil, rec); err != nil || !bytes.Equal(got, o) {
			b.Fatalf("object %d: %v", i, err)
		}
		x.wire += len(o)
		x.record += len(rec)
		x.objs, x.records, x.templates, x.own = append(x.objs, o), append(x.records, rec), append(x.templates, tb), append(x.own, t)
	}
	return x
}

// cpu returns the CPU time of this process in nanoseconds. Other programs do not count.
func cpu() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // every unix has it
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkPack(b *testing.B) {
	for _, r := range runs() {
		b.Run(r.String(), func(b *testing.B) {
			x := r.pack(b)
			n := len(x.objs)
			p := &x.p
			var rec []byte
			step := 0
			before := cpu()
			b.ResetTimer()
			for b.Loop() {
				i := step * 7919 % n // in another order than they were made, so indexes and caches are cold
				step++
				rec = p.Append(rec[:0], x.own[i], nil, x.objs[i])
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(x.wire)/float64(n), "wire-B")
			b.ReportMetric(float64(x.record)/float64(n), "record-B")
			share := float64(x.template) / float64(n)
			if r.spec.Owners == 50 {
				share = float64(x.template) / float64(r.spec.Objects) // of all objects, not only the loaded ones
			}
			b.ReportMetric(float64(x.record)/float64(n)+share, "object-B")
		})
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, r := range runs() {
		b.Run(r.String(), func(b *testing.B) {
			x := r.pack(b)
			n := len(x.objs)
			var buf []byte
			var err error
			step := 0
			before := cpu()
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				i := step * 7919 % n
				step++
				if buf, err = pack.Unpack(buf[:0], x.templates[i], nil, x.records[i]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(x.wire)/float64(n), "wire-B")
		})
	}
}

func BenchmarkZstd(b *testing.B) {
	for _, r := range runs() {
		if r.self {
			continue
		}
		b.Run(r.String(), func(b *testing.B) {
			objs, _ := r.load(b)
			all := bytes.Join(objs, nil)
			e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(32<<20))
			if err != nil {
				b.Fatal(err)
			}
			size := 0
			for b.Loop() {
				size = len(e.EncodeAll(all, nil))
			}
			b.ReportMetric(float64(size)/float64(len(objs)), "object-B")
		})
	}
}
