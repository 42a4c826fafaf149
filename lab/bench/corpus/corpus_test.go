package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/recording"
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

// A recording is read back, without the data of Secrets, and its objects change.
func TestRecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	specs := []Spec{{Kind: "secrets", Objects: 3}, {Kind: "widgets", Objects: 40}, {Kind: "deployments", Objects: 5}, {Kind: "nodes"}}
	rec := recording.NewWriter(f)
	for _, s := range specs {
		if err := Save(rec, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rec.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, s := range specs[:3] {
		r, err := Load(file, s.GVR().GroupResource().String())
		if err != nil {
			t.Fatal(err)
		}
		if r.Len() != s.Objects || r.Resource() != s.Resource() {
			t.Fatalf("%d of %v, want %d of %v", r.Len(), r.Resource(), s.Objects, s.Resource())
		}
		for i := range r.Len() {
			got, want := r.At(i), s.At(i)
			if w, ok := want.(*unstructured.Unstructured); ok {
				typed := &Widget{}
				if err := json.Unmarshal(encode(t, w), typed); err != nil {
					t.Fatal(err)
				}
				want = typed
			}
			want.GetObjectKind().SetGroupVersionKind(s.GVK())
			if s, ok := got.(*corev1.Secret); ok {
				if n := len(s.Data["token"]); n == 0 || !bytes.Equal(s.Data["token"], make([]byte, n)) {
					t.Errorf("%d bytes of a Secret: %.40q", n, s.Data["token"])
				}
			} else if !bytes.Equal(encode(t, got), encode(t, want)) {
				t.Errorf("%s\nwant\n%s", encode(t, got), encode(t, want))
			}
			if bytes.Equal(encode(t, got), encode(t, r.Changed(i, 2))) {
				t.Error("changed, the same")
			}
		}
	}
	if _, err := Load(file, "nodes"); err == nil || !strings.Contains(err.Error(), "it has") {
		t.Errorf("no nodes: %v", err)
	}
	if r, err := Load(file, ""); err != nil || r.Resource() != specs[1].Resource() {
		t.Errorf("the largest: %s, %v", r.ID(), err)
	}
	if err := os.WriteFile(file, []byte("else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, ""); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("no recording: %v", err)
	}
}

// A recording that no server can have made is an error that names the object. With two objects of one name a comparison
// would wait for ever for the first one.
func TestRecordingsThatCannotBe(t *testing.T) {
	res := Spec{Kind: "configmaps"}.Resource()
	for name, c := range map[string]struct {
		objects []string
		want    string
	}{
		"one name twice": {[]string{`{"metadata":{"name":"a","namespace":"n"}}`, `{"metadata":{"name":"a","namespace":"m"}}`, `{"metadata":{"name":"a","namespace":"n"}}`}, "configmaps, object 3: it is called n/a, as object 1 is"},
		"no name":        {[]string{`{"metadata":{"name":"a"}}`, `{}`}, "configmaps, object 2: it has no name"},
		"a list":         {[]string{`[]`}, "configmaps, object 1: it is no object"},
		"a number":       {[]string{`{"metadata":{"name":1}}`}, "configmaps, object 1: it is no object"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "recording")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			rec := recording.NewWriter(f)
			err = rec.Begin(res, len(c.objects))
			for _, o := range c.objects {
				err = errors.Join(err, rec.Add([]byte(o)))
			}
			if err := errors.Join(err, rec.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(file, ""); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
