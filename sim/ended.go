package sim

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A program that calls os.Exit ends the test with it, and one that panics in a goroutine, too: then nothing in the
// process can say which plan ran. So a second process is told about each plan that begins or ends. When the first one is
// gone it says which plans had not ended.

// watchVariable is set for the second process.
const watchVariable = "FLYBALL_SIM_WATCH"

func init() {
	if os.Getenv(watchVariable) != "" {
		fmt.Fprint(os.Stderr, lastWords(os.Stdin))
		os.Exit(0)
	}
}

// watcher is the way to the second process; nil if it cannot be started: then nobody watches.
var watcher = sync.OnceValue(func() *os.File {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), watchVariable+"=1")
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	if cmd.Start() != nil || cmd.Process.Release() != nil {
		_ = w.Close()
		return nil
	}
	return w
})

// watched tells the second process that a run of this text begins. The function that it returns tells that it has ended.
func watched(t *testing.T, text string) func() {
	w := watcher()
	if w == nil {
		return func() {}
	}
	line := t.Name() + "\t" + text + "\n"
	_, _ = w.WriteString("+" + line) // one write for each line, so that lines stay whole
	return func() { _, _ = w.WriteString("-" + line) }
}

// lastWords reads which plans begin and end. It returns what is to say about those that have not ended.
func lastWords(r io.Reader) string {
	open := map[string]int{}
	for lines := bufio.NewReader(r); ; { // a line may be long: drawn steps are in it
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		open[strings.TrimSuffix(line[1:], "\n")] += map[byte]int{'+': 1, '-': -1}[line[0]]
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(open)) {
		if test, text, _ := strings.Cut(line, "\t"); open[line] > 0 {
			fmt.Fprintf(&b, "sim: the process has ended in the midst of this plan. Has the program called os.Exit or log.Fatal, or panicked in a goroutine?\n  %s\nagain: %s\n", text, again(test, text))
		}
	}
	return b.String()
}

// pattern returns the value of -test.run that selects a test.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
