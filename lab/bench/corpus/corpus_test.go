package corpus

import (
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The same seed makes the same bytes, every object has a unique name, and a change changes it.
func TestCorpora(t *testing.T) {
	for _, kind := range Kinds() {
		s := Spec{Kind: kind, Objects: 60, ManagedFields: true, Seed: 7}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		names, bytesOf := map[string]bool{}, 0
		for i := range s.Objects {
			a, b := encode(t, s.At(i)), encode(t, s.At(i))
			if !bytes.Equal(a, b) {
				t.Fatalf("%s %d: made twice, differs", kind, i)
			}
			if bytes.Equal(a, encode(t, s.Changed(i, 1))) {
				t.Fatalf("%s %d: changed, the same", kind, i)
			}
			names[s.At(i).GetNamespace()+"/"+s.At(i).GetName()] = true
			bytesOf += len(a)
		}
		if len(names) != s.Objects {
			t.Errorf("%s: %d names", kind, len(names))
		}
		t.Logf("%s: %d bytes of JSON each", kind, bytesOf/s.Objects)
	}
}

// The Pods have the size that the goals assume.
func TestPodSize(t *testing.T) {
	for _, c := range []struct {
		managed  bool
		min, max int
	}{{true, 6400, 7000}, {false, 2900, 3600}} {
		p := Spec{Kind: "pods", Objects: 1000, ManagedFields: c.managed}.At(1).(*corev1.Pod)
		if n := p.Size(); n < c.min || n > c.max {
			t.Errorf("managedFields %v: %d bytes of protobuf", c.managed, n)
		}
	}
}

func encode(t *testing.T, o Object) []byte {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
