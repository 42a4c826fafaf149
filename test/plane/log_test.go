package plane

import (
	"fmt"
	"slices"
	"testing"
)

func TestLogTailHasTheLastLines(t *testing.T) {
	var l Log
	for _, text := range []string{"a\nb", "", "b\n", "\nc\nunfinished"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", text, n, err)
		}
	}
	if l.Lines() != 4 {
		t.Errorf("%d lines, want 4", l.Lines())
	}
	for _, test := range []struct {
		since, n int
		want     []string
	}{
		{0, 10, []string{"a", "bb", "", "c"}},
		{1, 10, []string{"bb", "", "c"}},
		{0, 2, []string{"", "c"}},
		{4, 10, nil},
		{5, 10, nil},
		{0, 0, nil},
	} {
		if got := l.Tail(test.since, test.n); !slices.Equal(got, test.want) {
			t.Errorf("Tail(%d, %d) = %q, want %q", test.since, test.n, got, test.want)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	var l Log
	const written = logLines + 3
	for i := range written {
		fmt.Fprintln(&l, i)
	}
	got := l.Tail(0, written)
	if len(got) != logLines || got[0] != "3" || got[len(got)-1] != fmt.Sprint(written-1) {
		t.Errorf("%d lines from %s to %s, want the last %d", len(got), got[0], got[len(got)-1], logLines)
	}
	if got := l.Tail(written-2, 10); !slices.Equal(got, []string{fmt.Sprint(written - 2), fmt.Sprint(written - 1)}) {
		t.Errorf("after a mark: %q", got)
	}
}

func TestLineWriterPassesWholeLines(t *testing.T) {
	var got []string
	w := &lineWriter{line: func(s string) { got = append(got, s) }}
	for _, text := range []string{"rea", "dy: x\nans", "wer\n\n", "rest"} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ready: x", "answer", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
