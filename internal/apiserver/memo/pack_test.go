package memo

import (
	"bytes"
	"testing"
)

func TestPack(t *testing.T) {
	for _, n := range []int{0, 1, minDeflated - 1, minDeflated, 1 << 20} {
		text := bytes.Repeat([]byte("abcdefg "), n/8+1)[:n]
		packed, err := pack(text)
		if err != nil || n >= minDeflated && len(packed) > n/20 {
			t.Errorf("%d bytes become %d, %v", n, len(packed), err)
		}
		if got, err := unpack(packed); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
	}
	long, err := pack(make([]byte, maxUnpacked+1))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"nothing": nil, "another kind": {7, 1}, "cut off": long[:len(long)/2], "too long": long} {
		if _, err := unpack(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
