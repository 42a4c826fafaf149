package world

import (
	"strings"
	"testing"
)

// What is drawn is another text on the server, as long, and the program gets its own back. Uids of objects stay.
func TestDrawn(t *testing.T) {
	const lease, one, two = "11111111-1111-4111-8111-111111111111", "a1b2c3d4-0000-4000-8000-aaaaaaaaaaaa", "a1b2c3d4-0000-4000-8000-bbbbbbbbbbbb"
	var d drawn
	texts := []string{`{"metadata":{"uid":"` + lease + `"},"spec":{"holderIdentity":"host_` + one + `"}}`, `{"spec":{"holderIdentity":"host_` + two + `"}}`}
	for i, text := range append(texts, texts...) {
		d.learn([]byte(text), lease)
		there := string(d.there([]byte(text)))
		if strings.Contains(there, one) || strings.Contains(there, two) || len(there) != len(text) || strings.Contains(text, lease) != strings.Contains(there, lease) {
			t.Errorf("%d: %s became %s", i, text, there)
		}
		if back := string(d.back([]byte(there))); back != text {
			t.Errorf("%d: %s came back as %s", i, text, back)
		}
		d.learn([]byte(there), lease) // a program that copies what it has read
	}
	if len(d.pairs) != 2 {
		t.Errorf("%d pairs, want 2", len(d.pairs))
	}
}
