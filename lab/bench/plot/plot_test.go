package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
	_ "github.com/flyball-io/flyball/lab/bench/programs"
)

// Sizes are measured, saved, and drawn again from the saved figures. Each line has its name, and
// those of the peers go as far as they were measured.
func TestPlot(t *testing.T) {
	tier.Audit(t, "runs the go command, and measures the heap")
	dir := t.TempDir()
	first, saved, again := filepath.Join(dir, "1.svg"), filepath.Join(dir, "figures"), filepath.Join(dir, "2.svg")
	var log bytes.Buffer
	if err := run(t.Context(), []string{"-sizes", "40,120", "-peers", "100", "-o", first, "-save", saved, "-tapes", dir}, &log); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if err := run(t.Context(), []string{"-from", saved, "-o", again}, &log); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(first)
	b, _ := os.ReadFile(again)
	if !bytes.Equal(a, b) {
		t.Error("the pictures differ")
	}
	for dec := xml.NewDecoder(bytes.NewReader(a)); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for name, points := range map[string]int{"flyball": 4, "client-go": 2, "controller-runtime": 2, "metadata": 2} {
		if n := strings.Count(string(a), `<circle class="`+name+`"`); n != points {
			t.Errorf("%d points of %s, want %d", n, name, points)
		}
	}
}

// Names of lines with the same end do not overlap.
func TestNames(t *testing.T) {
	c := chart{yTick: bytesTick, width: 300, height: 300, lines: []line{
		{class: "a", label: "a", points: []point{{1e3, 1e6}, {1e5, 1e8}}},
		{class: "b", label: "b", points: []point{{1e3, 1e6}, {1e5, 1.01e8}}},
		{class: "c", label: "c", points: []point{{1e3, 1e4}, {1e5, 1.2e8}}},
	}}
	c.x, c.y = span{3, 6}, span{4, 9}
	var b bytes.Buffer
	c.names(&b)
	var at []string
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		_, y, _ := strings.Cut(l, ` y="`)
		y, _, _ = strings.Cut(y, `"`)
		at = append(at, y)
	}
	if len(at) != 3 || at[0] == at[1] || at[1] == at[2] {
		t.Errorf("names at %v", at)
	}
}

func TestMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		"-o":           {},
		"-sizes":       {"-o", "x", "-sizes", "many"},
		"no arguments": {"-o", "x", "pods"},
		"no-such-file": {"-o", "x", "-from", "no-such-file"},
	} {
		var log bytes.Buffer
		if err := run(t.Context(), args, &log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want something about %s", args, err, want)
		}
	}
}
