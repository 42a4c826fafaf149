package recording_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/recording"
)

func resource(plural, kind string) recording.Resource {
	gv := schema.GroupVersion{Version: "v1"}
	return recording.Resource{GVK: gv.WithKind(kind), GVR: gv.WithResource(plural), Namespaced: true}
}

func object(kind, name, rest string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q}%s}`, kind, name, rest))
}

// write returns a recording of three kinds. The last object is longer than every buffer.
func write(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := recording.NewWriter(&b)
	big := `,"data":{"text":"` + strings.Repeat("<x>", 100_000) + `"}`
	for _, kind := range []struct {
		recording.Resource
		objects []json.RawMessage
	}{
		{resource("configmaps", "ConfigMap"), []json.RawMessage{object("ConfigMap", "a", ""), object("ConfigMap", "b", "")}},
		{resource("pods", "Pod"), nil},
		{resource("secrets", "Secret"), []json.RawMessage{object("Secret", "s", `,"data":{"key":"b3BlbnNlc2FtZQ=="}`)}},
		{resource("configmaps", "ConfigMap"), []json.RawMessage{object("ConfigMap", "c", big)}},
	} {
		if err := w.Begin(kind.Resource, len(kind.objects)); err != nil {
			t.Fatal(err)
		}
		for _, o := range kind.objects {
			if err := w.Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns a line for each kind and object, or for a kind only where skip is set.
func read(b []byte, skip bool) (lines []string, err error) {
	r, err := recording.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		kind, n, err := r.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprint(kind.GVR.Resource, " ", n))
		for !skip {
			o, err := r.Object()
			if err == io.EOF {
				break
			}
			if err != nil {
				return lines, err
			}
			lines = append(lines, string(o))
		}
	}
}

func TestReadsWhatWasWritten(t *testing.T) {
	b := write(t)
	got, err := read(b, false)
	if err != nil || len(got) != 8 {
		t.Fatalf("%d lines, %v", len(got), err)
	}
	want := []string{"configmaps 2", string(object("ConfigMap", "a", "")), string(object("ConfigMap", "b", "")), "pods 0", "secrets 1"}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("%d: %s, want %s", i, got[i], w)
		}
	}
	if strings.Contains(got[5], "b3Blb") || !strings.Contains(got[5], `"key":"AAAAAAAAAAAAAAAA"`) {
		t.Errorf("the secret: %s", got[5])
	}
	if n := len(got[7]); n < 300_000 || !json.Valid([]byte(got[7])) {
		t.Errorf("the large object has %d bytes", n)
	}
	kinds, err := read(b, true)
	if err != nil || strings.Join(kinds, ", ") != "configmaps 2, pods 0, secrets 1, configmaps 1" {
		t.Errorf("skipped: %v, %v", kinds, err)
	}
}

func TestBadRecordings(t *testing.T) {
	whole := write(t)
	zipped := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	head := `{"format":"flyball-recording-1","resource":{"GVR":{"Version":"v1","Resource":"pods"}},"objects":2}` + "\n"
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "it is no recording"},
		{"text", []byte("pods and more pods"), "it is no recording"},
		{"another format", zipped(`{"format":"other"}` + "\n"), "it does not begin with a line"},
		{"a negative number", zipped(strings.Replace(head, "2", "-2", 1)), "it does not begin with a line"},
		{"no JSON", zipped("pods\n"), "it does not begin with a line"},
		{"too few objects", zipped(head + "{}\n"), "pods, object 2 of 2: unexpected EOF"},
		{"half an object", zipped(head + "{}\n{"), "pods, object 2 of 2: unexpected EOF"},
		{"cut", whole[:len(whole)-60], "configmaps, object 1 of 1: unexpected EOF"},
	} {
		_, err := read(c.b, false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, skipped := read(c.b, true); skipped == nil {
			t.Errorf("%s: no error if the objects are skipped", c.name)
		}
	}
	if _, err := read(zipped(head+"{}\n"), false); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func TestWriterCounts(t *testing.T) {
	w := recording.NewWriter(io.Discard)
	if err := errors.Join(w.Begin(resource("pods", "Pod"), 2), w.Add(object("Pod", "a", ""))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "pods has 1 objects fewer") {
		t.Errorf("%v", err)
	}
}
