package pack

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

// The code is one: no code begins another, and every byte has one.
func TestLiteralCodeIsAPrefixCode(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			if k := codeLengths[a]; a != b && k <= codeLengths[b] && code[b]>>(codeLengths[b]-k) == code[a] {
				t.Fatalf("the code of %d begins that of %d", a, b)
			}
		}
	}
}

// What is coded is read back, in runs of any lengths, and as many bytes as were written.
func TestLiteralsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.StringMatching(`[a-z0-9./-]{0,300}`), func(s string) []byte { return []byte(s) })).Draw(t, "bytes")
		front := []byte("operations")
		size := codedSize(s)
		b := appendCoded(bytes.Clone(front), s, size)
		if len(b) != len(front)+size || !bytes.HasPrefix(b, front) {
			t.Fatalf("%d bytes, want %d", len(b), len(front)+size)
		}
		l := literals{b: b}
		var got []byte
		for len(got) < len(s) {
			run := make([]byte, rapid.IntRange(1, len(s)-len(got)).Draw(t, "run"))
			if !l.take(run) {
				t.Fatal("too few bytes")
			}
			got = append(got, run...)
		}
		if !bytes.Equal(got, s) || len(s) > 0 && l.begin() != len(front) {
			t.Fatalf("%q from %d on, want %q", got, l.begin(), s)
		}
		if (&literals{b: b[len(front):]}).take(make([]byte, len(s)+40)) {
			t.Fatal("bytes that were not written")
		}
	})
}
