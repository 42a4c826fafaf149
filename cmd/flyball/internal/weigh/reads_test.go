package weigh

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/scheme"
)

// The reads of kinds of each form are measured. A deep copy shares the texts of an object, and a read copies them: with
// much text that does not pack it takes longer.
func TestReadsAreMeasured(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	large := func(i int) wire.Raw {
		text := make([]byte, 30_000)
		for k := range text {
			text[k] = byte(random.Uint32())
		}
		o := configMap(i)
		o.Data = map[string]string{"release": base64.StdEncoding.EncodeToString(text)}
		return protobuf(t, nil, o)
	}
	for name, c := range map[string]struct {
		of     Resource
		object func(i int) wire.Raw
		slower bool
	}{
		"protobuf":     {configMaps, func(i int) wire.Raw { return protobuf(t, nil, configMap(i)) }, false},
		"much text":    {configMaps, large, true},
		"JSON":         {configMaps, func(i int) wire.Raw { return inJSON(t, configMap(i)) }, false},
		"unstructured": {widgets, widget, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := &wire.Kind{GVK: c.of.GVK, Scheme: scheme.New()}
			s := NewScale(c.of, k, nil)
			for i := range 40 {
				raw := c.object(i)
				raw.Kind = k
				s.Add(raw)
			}
			f, problems := s.End()
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if f.Copy <= 0 || f.Get <= 0 || tier.InAudit() && c.slower && f.slower() < muchSlower {
				t.Errorf("a copy takes %d ns, a read %d", f.Copy, f.Get)
			}
		})
	}
}

// A kind without an object that can be decoded has no reads.
func TestNothingToRead(t *testing.T) {
	k := &wire.Kind{GVK: configMaps.GVK, Scheme: scheme.New()}
	s := NewScale(configMaps, k, nil)
	s.Add(wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"1"},"data":[]}`)})
	if f, _ := s.End(); f.Reads != (Reads{}) || f.slower() != 0 {
		t.Errorf("%+v", f.Reads)
	}
}

func widget(i int) wire.Raw {
	return wire.Raw{Encoding: wire.JSON, Bytes: fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w%d","namespace":"n","uid":"u%d","resourceVersion":"%d"},"spec":{"size":%d}}`, i, i, i+1, i)}
}

func inJSON(t *testing.T, o *corev1.ConfigMap) wire.Raw {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Raw{Encoding: wire.JSON, Bytes: b}
}

// The report names the kinds whose reads take longer, the slowest first.
func TestSlowerReadsAreNamed(t *testing.T) {
	kinds := func(reads ...Reads) *Report {
		r := &Report{}
		for i, one := range reads {
			r.add(Kind{Resource: fmt.Sprintf("kind%d", i), Figures: Figures{Objects: 1, Structs: int64(100 - i), Reads: one}})
		}
		return r
	}
	for want, r := range map[string]*Report{
		"\nno read takes 5µs longer than the deep copy of a reader of client-go's caches\n": kinds(Reads{1000, 900}, Reads{100, 4000}, Reads{}),
		`
a read takes at least 5µs longer than the deep copy of a reader of client-go's caches:
  kind2: 1.2 ms in place of 63 µs
  kind0: 7.0 µs in place of 1.0 µs
`: kinds(Reads{1000, 7000}, Reads{1000, 100}, Reads{63_000, 1_200_000}, Reads{}),
		`
a read takes at least 5µs longer than the deep copy of a reader of client-go's caches:
  kind5: 12 µs in place of 0.5 µs
  kind4: 11 µs in place of 0.5 µs
  kind3: 10 µs in place of 0.5 µs
  kind2: 9.0 µs in place of 0.5 µs
  kind1: 8.0 µs in place of 0.5 µs
  and of more kinds: 1; -o wide has them all
`: kinds(Reads{500, 7000}, Reads{500, 8000}, Reads{500, 9000}, Reads{500, 10_000}, Reads{500, 11_000}, Reads{500, 12_000}),
		"": kinds(Reads{}),
	} {
		if got := r.slower(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		var b bytes.Buffer
		if err := r.Text(&b, false); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v\n%s", err, &b)
		}
	}
}
