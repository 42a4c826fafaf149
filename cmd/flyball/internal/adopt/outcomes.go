package adopt

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// report is what a run of tests told. A name in it is a package, or a package and a test with its subtests, or a
// package and a spec of Ginkgo.
type report struct {
	results map[string]string // how each ended, as "go test -json" says it; unfinished if it began only
	output  map[string]string // the end of what each printed
	done    int               // packages that have ended
}

// unfinished is the result of a test that began and did not end.
const unfinished = "unfinished"

// mostOutput is how much is kept of what one test printed: its end.
const mostOutput = 64 << 10

func newReport() *report { return &report{results: map[string]string{}, output: map[string]string{}} }

// event is a line of "go test -json".
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// read reads a line of "go test -json". It ignores others.
func (r *report) read(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	name := e.Package
	if e.Test != "" {
		name += " " + e.Test
	}
	switch e.Action {
	case "output", "build-output":
		r.print(cmp.Or(name, e.ImportPath), e.Output)
	case "run":
		r.end(name, unfinished)
	case "pass", "fail", "skip":
		r.end(name, e.Action)
		if e.Test == "" {
			r.done++
		}
	}
}

// end sets the result of a name. Of two, a failure counts.
func (r *report) end(name, result string) {
	if r.results[name] != "fail" {
		r.results[name] = result
	}
}

// print keeps the end of the output: at most two times mostOutput, so that it is rarely copied.
func (r *report) print(name, text string) {
	r.output[name] += text
	if all := r.output[name]; len(all) > 2*mostOutput {
		r.output[name] = "...\n" + all[len(all)-mostOutput:]
	}
}

// named returns the names with a result, in order.
func (r *report) named(result string) []string {
	var out []string
	for name, got := range r.results {
		if got == result {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// ran counts the tests that ran, without packages and those skipped.
func (r *report) ran() int {
	n := 0
	for name, result := range r.results {
		if strings.Contains(name, " ") && result != "skip" {
			n++
		}
	}
	return n
}

// failed returns the innermost names that have failed or did not finish.
func (r *report) failed() []string {
	return innermost(append(r.named("fail"), r.named(unfinished)...))
}

// Broken is a test or package that passed before a change, and does not pass with it.
type Broken struct {
	// Name is the package, with the test if it is one. Now is what it does instead.
	Name, Now string
}

// broken returns what passed before and does not pass now, in order. Whatever did not pass before may do anything.
func (r *report) broken(before *report) []Broken {
	var out []Broken
	for _, name := range before.named("pass") {
		if now := r.results[name]; now != "pass" {
			out = append(out, Broken{name, nows[now]})
		}
	}
	return out
}

// nows says what a result means.
var nows = map[string]string{"fail": "fails", "skip": "is skipped", unfinished: "does not end", "": "does not run"}

// within reports whether a name is of a test in another one: of a package, or of a test.
func within(name, outer string) bool {
	return strings.HasPrefix(name, outer+" ") || strings.Contains(outer, " ") && strings.HasPrefix(name, outer+"/")
}

// innermost sorts names, and leaves out those that have others within.
func innermost(names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return within(other, name) })
	})
}
