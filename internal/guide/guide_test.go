// Package guide runs the guides in docs as a reader does: it writes their files, runs their commands
// on a control plane, and compares what they say with the outputs that the guide shows.
package guide

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// block is a fenced block of a guide. Its info string is a language and a mark:
//
//	go file=NAME      a file of the folder that the commands before it changed to
//	sh run            commands that end, in one session: each block goes on where the last one ended
//	sh background     a program that goes on to run
//	sh controlplane   the command that starts the control plane, for which that of the tests stands
//	text output       what the commands before it say, all of it; of a program that goes on, so far
//	text log          what the program says further
//	text interrupt    what it says after Ctrl-C, when it must end with status 0
//
// In the texts … stands for anything within a line. A program may say more lines than are shown.
type block struct {
	mark, name string
	text       string
	line       int // of the guide
}

// marks are the languages and marks that there are.
var marks = []string{"go file", "sh run", "sh background", "sh controlplane", "text output", "text log", "text interrupt"}

// parse returns the fenced blocks of a guide. A block without a mark is an error: nobody would notice
// that it is not true.
func parse(text string) ([]block, error) {
	var all []block
	open := false
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			mark, name, _ := strings.Cut(info, "=")
			b := block{mark: mark, name: name, line: i + 1}
			if !known(b) {
				return nil, fmt.Errorf("line %d: a block is marked %q, want one of %q", b.line, info, marks)
			}
			all = append(all, b)
		case open:
			all[len(all)-1].text += line + "\n"
		}
	}
	if open {
		return nil, fmt.Errorf("line %d: the block does not end", all[len(all)-1].line)
	}
	return all, nil
}

func known(b block) bool {
	for _, m := range marks {
		if b.mark == m {
			return (m == "go file") == (b.name != "")
		}
	}
	return false
}

// matches reports whether a line is what the guide shows, in which … stands for anything.
func matches(shown, line string) bool {
	parts := strings.Split(shown, "…")
	if len(parts) == 1 {
		return shown == line
	}
	line, ok := strings.CutPrefix(line, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		at := strings.Index(line, part)
		if at < 0 {
			return false
		}
		line = line[at+len(part):]
	}
	return strings.HasSuffix(line, parts[last])
}

// same reports whether an output is what the guide shows, line by line.
func same(shown, output string) bool {
	want, got := lines(shown), lines(output)
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !matches(want[i], got[i]) {
			return false
		}
	}
	return true
}

// after looks for the lines that the guide shows, in their order and with any others between them,
// and returns how many lines of the output that takes; false: they are not all there.
func after(shown, output string) (n int, ok bool) {
	want := lines(shown)
	for i, line := range lines(output) {
		if len(want) == 0 {
			return i, true
		}
		if matches(want[0], line) {
			want = want[1:]
			n = i + 1
		}
	}
	return n, len(want) == 0
}

func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// root is the folder of the core module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, guide string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", guide))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(text))
	if err != nil {
		t.Fatalf("docs/%s: %v", guide, err)
	}
	return blocks
}

func TestMatchingOfOutputs(t *testing.T) {
	for _, tc := range []struct {
		shown, line string
		want        bool
	}{
		{"ready", "ready", true},
		{"ready", "ready.", false},
		{"ready: …", "ready: https://127.0.0.1:1", true},
		{"… INFO started", "2026/01/02 03:04:05 INFO started", true},
		{"… INFO started", "2026/01/02 03:04:05 INFO started x=1", false},
		{"a … b … c", "a 1 b 2 c", true},
		{"a … b … c", "a 1 b c", false},
	} {
		if got := matches(tc.shown, tc.line); got != tc.want {
			t.Errorf("%q and %q: %v, want %v", tc.shown, tc.line, got, tc.want)
		}
	}
	if n, ok := after("a\nb\n", "x\na\ny\nb\nz\n"); n != 4 || !ok {
		t.Errorf("after %d lines, %v; want 4, true", n, ok)
	}
	if _, ok := after("b\na\n", "a\nb\n"); ok {
		t.Error("lines in another order are found")
	}
	if !same("a …\n", "a 1\n") || same("a\n", "a\nb\n") {
		t.Error("an output is compared as a whole")
	}
}

func TestBlocksNeedAMark(t *testing.T) {
	blocks, err := parse("text\n```sh run\ntrue\n```\n```go file=a/b.go\npackage b\n```\n")
	if err != nil || len(blocks) != 2 || blocks[0].text != "true\n" || blocks[1].name != "a/b.go" || blocks[1].line != 5 {
		t.Errorf("%+v, %v", blocks, err)
	}
	for _, text := range []string{"```sh\ntrue\n```\n", "```go file\n```\n", "```sh run\ntrue\n"} {
		if _, err := parse(text); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}
