package weigh

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func report() *Report {
	r := &Report{}
	r.add(Kind{Resource: "leases.coordination.k8s.io"})
	r.add(Kind{Resource: "events", Kind: "Event", Version: "v1", Form: "typed", Figures: Figures{Objects: 12, Wire: 9_940, Structs: 30_100, StructsCut: 20_000, Packed: 4_106, PackedWhole: 4_200, Sampled: 12}})
	r.add(Kind{Resource: "pods", Kind: "Pod", Version: "v1", Form: "typed", Figures: Figures{Objects: 120_345, Wire: 800_000_000, ManagedFields: 399_600_000, Structs: 1_900_000_000, StructsCut: 999_600_000, Packed: 34_000_000, PackedWhole: 41_000_000, Sampled: 500}})
	r.LeftOut = []LeftOut{{"secrets", "list secrets: forbidden"}, {"nodes", "list nodes: forbidden"}}
	r.sort()
	return r
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := report().Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `  OBJECTS    WIRE  MANAGED  STRUCTS  PACKED  KIND
  120,345  800 MB   400 MB   1.9 GB   34 MB  pods
       12  9.9 kB      0 B    30 kB  4.1 kB  events
  120,357  800 MB   400 MB   1.9 GB   34 MB  total

all of these kinds:
  with managedFields     1.9 GB → 41 MB, 46 times less
  without managedFields  1.0 GB → 34 MB, 29 times less

from: the Go structs that client-go's caches hold, estimated from 512 decoded
      objects. managedFields are in them unless a transform cuts them.
to:   the objects packed in Flyball's cache. It cuts managedFields unless
      KeepManagedFields is set.

not weighed: secrets, nodes
without objects: leases.coordination.k8s.io
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.Reset()
	r := report()
	r.Program, r.LeftOut, r.Empty = true, nil, make([]string, 43)
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nyour operator:\n  with managedFields     1.9 GB → 41 MB, 46 times less\n  without managedFields  1.0 GB → 34 MB, 29 times less\n",
		"\n43 more kinds have no objects\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	r := report()
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Kinds) != 2 || back.Kinds[0] != r.Kinds[0] || back.Total != r.Total || back.LeftOut[0] != r.LeftOut[0] {
		t.Errorf("%s", &b)
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 9_949: "9.9 kB", 9_950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB",
		41_000_000: "41 MB", 1_900_000_000: "1.9 GB", 5_000_000_000_000: "5.0 TB", 7_000_000_000_000_000: "7 PB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for want, got := range map[string]string{"": times(100, 60), ", 2 times less": times(100, 50), ", 1,000 times less": times(1000, 1)} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := times(5, 0); got != "" {
		t.Error(got)
	}
}
