package web

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/faults"
)

// sharer is a writer that keeps what it is given.
type sharer struct {
	*httptest.ResponseRecorder
	parts [][]byte
}

func (s *sharer) WriteShared(b []byte) (int, error) {
	s.parts = append(s.parts, b)
	return len(b), nil
}

// Frames are those of the real server, whether the writer shares bytes or copies them. An object is not copied for a
// writer that shares.
func TestFrames(t *testing.T) {
	for _, kind := range []string{core.Added, core.Modified, core.Deleted, core.Bookmark, core.Failure} {
		for _, size := range []int{2, 100, 127, 128, 129, 200, 16383, 16384, 1 << 20} {
			object := []byte("{" + strings.Repeat("x", size-2) + "}")
			event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
			text, err := event.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			n := len(text)
			for protobuf, want := range map[bool]string{
				true:  string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + string(text),
				false: `{"type":"` + kind + `","object":` + string(object) + "}\n",
			} {
				copies, shares := httptest.NewRecorder(), &sharer{ResponseRecorder: httptest.NewRecorder()}
				for _, f := range []*frames{newFrames(copies, protobuf, nil, nil), newFrames(shares, protobuf, nil, nil)} {
					if err := f.send(kind, object, faults.Frame{Times: 1}); err != nil {
						t.Fatal(err)
					}
				}
				if got := copies.Body.String(); got != want {
					t.Fatalf("%s of %d bytes, protobuf %v: got %.100q, want %.100q", kind, size, protobuf, got, want)
				}
				if got := string(bytes.Join(shares.parts, nil)); got != want || &shares.parts[1][0] != &object[0] {
					t.Fatalf("%s of %d bytes, protobuf %v, shared: got %.100q, want %.100q", kind, size, protobuf, got, want)
				}
			}
		}
	}
}
