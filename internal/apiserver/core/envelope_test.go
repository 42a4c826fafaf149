package core

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An envelope is that of apimachinery, and the size of a field is what is appended.
func TestEnvelope(t *testing.T) {
	for _, size := range []int{0, 1, 127, 128, 16383, 16384, 3 << 20} {
		raw := bytes.Repeat([]byte("x"), size)
		u := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}, Raw: raw}
		want, err := u.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		kind := metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}
		got := envelope(kind, raw)
		if !bytes.Equal(got, append([]byte(magic), want...)) {
			t.Errorf("an envelope of %d bytes differs: %.60q, want %.60q", size, got, want)
		}
		if len(got) > cap(beginEnvelope(kind, size)) {
			t.Errorf("an envelope of %d bytes has no room", size)
		}
		if n := len(appendField(nil, fieldItems, raw)); n != sizeOfField(raw) {
			t.Errorf("a field of %d bytes has %d, not %d", size, n, sizeOfField(raw))
		}
	}
}
