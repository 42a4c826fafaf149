package jsonscan

import "testing"

// sameStarts checks that each value in a text is found from its end.
func sameStarts(t *testing.T, in []byte) {
	t.Helper()
	if _, _, err := Check(in); err != nil {
		for end := range in { // nothing breaks
			valueStart(in, end, 0)
			textStart(in, end)
		}
		return
	}
	var check func(from, to int)
	check = func(from, to int) {
		for stop := range from + 1 {
			if got := valueStart(in, to, stop); got != from {
				t.Fatalf("%.200q: the value that ends at %d begins at %d, not at %d (no farther than %d)", in, to, from, got, stop)
			}
		}
		if got := valueStart(in, to, from+1); got > from+1 {
			t.Fatalf("%.200q: the value that ends at %d begins at %d", in, to, got)
		}
		for _, p := range stockParts(t, in[from:to], from) {
			if p.name != "" && textStart(in, spaceBack(in, spaceBack(in, p.from)-1)) < from {
				t.Fatalf("%.200q: the name %q is not found", in, p.name)
			}
			check(p.from, p.to)
		}
	}
	from := Space(in, 0)
	check(from, spaceBack(in, len(in)))
}

func TestValuesAreFoundFromTheirEnd(t *testing.T) {
	for _, s := range append(grammarSeeds, layoutSeeds()[:40]...) {
		sameStarts(t, []byte(s))
	}
}

func FuzzValueStart(f *testing.F) {
	for _, s := range grammarSeeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":["\\","\"","\\\"",{"b\\\"":"x\\\\"}],"12345678":"1234567","123456789":12345678.5e-3}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 2000 {
			sameStarts(t, in)
		}
	})
}
