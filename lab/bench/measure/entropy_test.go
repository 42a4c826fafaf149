package measure

import (
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The window is over the whole corpus: a larger one finds nothing more, and one that is too small does.
func TestWindow(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{0: 1 << 10, 1 << 10: 1 << 10, 1<<20 + 1: 2 << 20, 1 << 40: zstd.MaxWindowSize} {
		if got := window(size); got != want {
			t.Errorf("window for %d bytes: %d, want %d", size, got, want)
		}
	}
	s := Defaults()
	s.Spec.Kind, s.Spec.Objects, s.Log = "pods", 200, t.Logf
	c, err := s.stripped()
	if err != nil {
		t.Fatal(err)
	}
	over := func(window int) (in, out counter) {
		t.Helper()
		in, out, err := compressedOver(t.Context(), s, c, zstd.SpeedDefault, window)
		if err != nil {
			t.Fatal(err)
		}
		return in, out
	}
	in, out := over(window(mean * c.Len()))
	if int(in) > mean*c.Len() {
		t.Errorf("objects have %d bytes in the mean", int(in)/c.Len())
	}
	if _, larger := over(8 * window(int(in))); larger != out {
		t.Errorf("%d bytes, and %d by a larger window", out, larger)
	}
	if _, smaller := over(zstd.MinWindowSize); smaller <= out {
		t.Errorf("%d bytes, and %d by a window of 1 kB", out, smaller)
	}
}
