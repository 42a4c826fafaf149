package simpage

import (
	"fmt"
	"strings"

	"github.com/flyball-io/flyball/internal/simreport"
)

// story is a run beside the run without faults.
type story struct {
	simreport.Story
	ID, Command string
	Steps       []step
	// Differs says that some row is not the same in both.
	Differs bool
}

// step is the part of a story that belongs to one step.
type step struct {
	N     int
	Title string
	Rows  []pair
}

// pair is a row: an entry of the run, and the same or another one of the reference, or none.
type pair struct {
	Class    string // same, near or other
	Run, Ref *entry
	First    bool // the first that is not the same
}

// entry is an entry as the page shows it.
type entry struct {
	Time, Lane, Class, Text, Detail, Badge string
}

func newStory(id string, r *simreport.Report, s simreport.Story) story {
	out := story{Story: s, ID: id, Command: s.Replay}
	if rest, ok := strings.CutPrefix(s.Replay, "go test "); ok && r.Package != "" {
		out.Command = "go test " + r.Package + " " + rest
	}
	run, ref := entries(s.Run), entries(s.Reference)
	for len(run)+len(ref) > 0 {
		var a, b []simreport.Entry
		n := first(run, ref)
		a, run = upTo(run, n)
		b, ref = upTo(ref, n)
		x := step{N: n, Rows: align(a, b)}
		switch {
		case n == 0:
			x.Title = "the programs start"
		case n <= len(r.Steps):
			x.Title = ": " + r.Steps[n-1]
		}
		for i := range x.Rows {
			if x.Rows[i].Class != "same" && !out.Differs {
				out.Differs, x.Rows[i].First = true, true
			}
		}
		out.Steps = append(out.Steps, x)
	}
	return out
}

// entries returns the entries of a trace, with one for those that are cut out.
func entries(t simreport.Trace) (out []simreport.Entry) {
	for i, e := range t.Entries {
		if i == t.CutAt && t.Cut > 0 {
			out = append(out, simreport.Entry{At: e.At, Step: e.Step, Lane: "cut", Text: fmt.Sprintf("… %d more", t.Cut)})
		}
		out = append(out, e)
	}
	return out
}

// first returns the lower step of the first entries.
func first(a, b []simreport.Entry) int {
	switch {
	case len(a) == 0:
		return b[0].Step
	case len(b) == 0:
		return a[0].Step
	}
	return min(a[0].Step, b[0].Step)
}

// upTo splits entries behind those of a step.
func upTo(all []simreport.Entry, step int) (of, rest []simreport.Entry) {
	i := 0
	for i < len(all) && all[i].Step <= step {
		i++
	}
	return all[:i], all[i:]
}

// align puts two courses of a step side by side, with as many equal entries in a row as possible.
func align(a, b []simreport.Entry) (out []pair) {
	like := func(x, y simreport.Entry) bool { return x.Lane == y.Lane && x.Text == y.Text }
	// longest[i][j] is how many entries of a[i:] and b[j:] are alike, in order.
	longest := make([][]uint16, len(a)+1)
	for i := range longest {
		longest[i] = make([]uint16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if like(a[i], b[j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && like(a[i], b[j]) {
			class := "same"
			if a[i].Body != b[j].Body || a[i].Fault != b[j].Fault {
				class = "near"
			}
			out = append(out, pair{Class: class, Run: newEntry(a[i]), Ref: newEntry(b[j])})
			i, j = i+1, j+1
			continue
		}
		// What stands between two equal entries is other.
		var x, y []simreport.Entry
		for (i < len(a) || j < len(b)) && !(i < len(a) && j < len(b) && like(a[i], b[j])) {
			if i < len(a) && (j == len(b) || longest[i+1][j] >= longest[i][j+1]) {
				x, i = append(x, a[i]), i+1
			} else {
				y, j = append(y, b[j]), j+1
			}
		}
		out = append(out, beside(x, y)...)
	}
	return out
}

// beside puts entries that differ side by side.
func beside(x, y []simreport.Entry) (out []pair) {
	for k := range max(len(x), len(y)) {
		p := pair{Class: "other"}
		if k < len(x) {
			p.Run = newEntry(x[k])
		}
		if k < len(y) {
			p.Ref = newEntry(y[k])
		}
		out = append(out, p)
	}
	return out
}

// lanes has the lane of the page for each of the trace. Others cross all lanes.
var lanes = map[string]string{"user": "world", "cluster": "world", "world": "world", "view": "view", "program": "program"}

func newEntry(e simreport.Entry) *entry {
	x := &entry{Time: fmt.Sprintf("%.3f s", e.At.Seconds()), Lane: e.Lane, Class: lanes[e.Lane], Text: e.Text}
	if x.Class == "" {
		x.Class = "across"
	}
	switch {
	case e.Lane == "wrong":
		x.Badge = "wrong"
	case e.Fault:
		x.Badge = "fault"
	case e.Lane == "user" || e.Lane == "cluster":
		x.Badge = e.Lane
	}
	if e.Version != 0 {
		x.Detail = fmt.Sprintf("version %d", e.Version)
	}
	if e.Body != 0 {
		x.Detail = fmt.Sprintf("body %08x", uint32(e.Body))
	}
	return x
}
