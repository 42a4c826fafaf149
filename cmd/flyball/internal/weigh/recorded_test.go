package weigh

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/recording"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/scheme"
)

// record writes a recording of ConfigMaps, of Widgets that are like them, and of the ConfigMaps under
// another name.
func record(t *testing.T, n int, more ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.rec")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewWriter(f)
	for _, r := range []Resource{configMaps, widgets, resourceOf("other.org", "v1", "configmaps", "ConfigMap", true), nodes} {
		objects := n
		if r == nodes {
			objects = 0
		}
		if err := w.Begin(r, objects); err != nil {
			t.Fatal(err)
		}
		for i := range objects {
			o := configMap(i)
			if r == widgets {
				o.UID = ""
			}
			o.SetGroupVersionKind(r.GVK)
			b, err := json.Marshal(o)
			if err == nil {
				err = w.Add(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, o := range more {
		if err := errors.Join(w.Begin(configMaps, 1), w.Add(json.RawMessage(o))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// A recording weighs as much as the same objects in the form in which a server sends them.
func TestRecorded(t *testing.T) {
	const n = 2500
	file := record(t, n)
	var steps []Progress
	var problems []string
	r, err := Recorded(t.Context(), file, scheme.New(), Options{
		Progress: func(p Progress) { steps = append(steps, p) },
		Problem:  func(err error) { problems = append(problems, err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	k := &wire.Kind{GVK: configMaps.GVK, Scheme: scheme.New()}
	s := NewScale(configMaps, k, nil)
	for i := range n {
		s.Add(protobuf(t, k, configMap(i)))
	}
	want, _ := s.End()
	if len(r.Kinds) != 2 || len(r.Empty) != 1 || r.Empty[0] != "nodes" {
		t.Fatalf("%+v", r)
	}
	w, c := r.Kinds[0], r.Kinds[1]
	if c.Resource != "configmaps" || c.Form != "typed" || w.Resource != "widgets.example.com" || w.Form != "unstructured" {
		t.Fatalf("%+v\n%+v", c, w)
	}
	near(t, "packed", c.Packed, want.Packed, 0.02)
	if tier.InAudit() { // measures the heap
		near(t, "structs", c.Structs, want.Structs, 0.05)
	}
	if c.Copy == 0 || c.Get == 0 || w.Copy == 0 || w.Get == 0 {
		t.Errorf("reads of %v and %v", c.Reads, w.Reads)
	}
	c.Reads, want.Reads = Reads{}, Reads{}
	c.Packed, c.PackedWhole, c.Structs, c.StructsCut = want.Packed, want.PackedWhole, want.Structs, want.StructsCut
	if c.Figures != want {
		t.Errorf("%+v, want %+v", c.Figures, want)
	}
	if w.Objects != n || w.Wire <= c.Wire || r.Total.Objects != 2*n {
		t.Errorf("%+v", r)
	}
	if len(r.LeftOut) != 1 || r.LeftOut[0].Resource != "configmaps.other.org" || !strings.Contains(r.LeftOut[0].Reason, "those of configmaps") {
		t.Errorf("%+v", r.LeftOut)
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "configmaps.other.org is not weighed: ") {
		t.Errorf("%q", problems)
	}
	if len(steps) < 4 || steps[0].Kind != "configmaps" || steps[1].Objects+steps[1].Remaining != n {
		t.Errorf("%v", steps)
	}
}

func TestRecordedSelection(t *testing.T) {
	file := record(t, 30)
	p, err := ParseProgram([]byte("kind: Role\nmetadata: {namespace: team-1}\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]"), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Recorded(t.Context(), file, scheme.New(), Options{Selection: Selection{Program: p, Kinds: []string{"Widget"}}})
	if err != nil || len(r.Kinds) != 1 || r.Total.Objects != 10 || !r.Program {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range []struct {
		what Selection
		want string
	}{
		{Selection{Kinds: []string{"pods", "cm", "widgets"}}, `has no kind "pods", none "cm" that can be listed`},
		{Selection{Kinds: []string{"nodes"}}, "has nothing to weigh: there are no nodes"},
		{Selection{Namespace: "none"}, "there are no configmaps, no widgets.example.com, no configmaps.other.org"},
		{Selection{Program: &Program{}}, "the roles of --program let it list and watch no kind that recording"},
		{Selection{Program: p, Namespace: "team-2"}, "the roles permit namespace team-1, not team-2"},
	} {
		if _, err := Recorded(t.Context(), file, scheme.New(), Options{Selection: c.what}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.what, err, c.want)
		}
	}
}

func TestBadRecording(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.rec")
	f, err := os.Create(empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(recording.NewWriter(f).Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(record(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.rec")
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"/nowhere/at/all": "no such file",
		empty:             "empty.rec is empty",
		cut:               "unexpected EOF",
		"recorded.go":     "recording recorded.go: it is no recording",
	} {
		if _, err := Recorded(t.Context(), file, scheme.New(), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	// An object that cannot be decoded is named, and the others are weighed.
	var problems []string
	r, err := Recorded(t.Context(), record(t, 20, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":7}`), scheme.New(),
		Options{Problem: func(err error) { problems = append(problems, err.Error()) }})
	if err != nil || r.Total.Objects != 40 || len(problems) != 2 {
		t.Fatalf("%+v, %v, %q", r, err, problems)
	}
	if !strings.Contains(problems[1], "configmaps, object 1 of 1: ") || !strings.Contains(problems[1], "bad") {
		t.Error(problems[1])
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := errors.New("asked to stop")
	r, err := Recorded(ctx, record(t, 3000), scheme.New(), Options{Progress: func(Progress) { cancel(asked) }})
	if r != nil || err != asked {
		t.Errorf("%+v, %v", r, err)
	}
}
