package suites

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Report is what came of a run.
type Report struct {
	Specs, Passed, Pending int
	// Failed has the names, and the messages in the next lines.
	Failed []string
}

// Ginkgo reads a report in JSON of a suite of ginkgo. Specs that the focus leaves out do not count.
func Ginkgo(file string) (*Report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeType            string
			LeafNodeText            string
			State                   string
			Failure                 struct{ Message string }
		}
	}
	if err := json.Unmarshal(b, &reports); err != nil {
		return nil, err
	}
	r := &Report{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			if spec.LeafNodeType != "It" {
				if spec.State != "passed" {
					r.Failed = append(r.Failed, spec.LeafNodeType+" "+name+"\n"+spec.Failure.Message)
				}
				continue
			}
			r.Specs++
			switch spec.State {
			case "passed":
				r.Passed++
			case "pending":
				r.Pending++
			case "skipped":
				r.Specs--
			default:
				r.Failed = append(r.Failed, name+"\n"+spec.Failure.Message)
			}
		}
	}
	return r, nil
}

// outcome is the line by which a test ends, with -test.v=test2json, and timedOut what a test binary writes when its
// time is up.
var (
	outcome  = regexp.MustCompile(`(?m)(?:^|\x16)[ \t]*--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
	timedOut = regexp.MustCompile(`(?m)^panic: (test timed out after \S+)\n[ \t]*running tests:\n((?:[ \t]+\S+ \([0-9a-z.]+\)\n)+)`)
)

// GoTest reads what a test binary wrote with -test.v=test2json. Tests within tests count. Tests that still ran when
// the time was up have failed.
func GoTest(out []byte) *Report {
	r := &Report{}
	for _, m := range outcome.FindAllSubmatch(out, -1) {
		r.Specs++
		switch string(m[1]) {
		case "PASS":
			r.Passed++
		case "SKIP":
			r.Pending++
		default:
			r.Failed = append(r.Failed, string(m[2]))
		}
	}
	if m := timedOut.FindSubmatch(out); m != nil {
		for line := range strings.Lines(string(m[2])) {
			r.Specs++
			r.Failed = append(r.Failed, strings.Fields(line)[0]+"\n"+string(m[1]))
		}
	}
	return r
}

// Last returns why a process has ended, as far as its output says: the first panic, or else the last lines.
func Last(out []byte) string {
	const few = 8
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	from := max(0, len(lines)-few)
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "panic: ") }); i >= 0 {
		from = i
	}
	return strings.Join(lines[from:min(from+few, len(lines))], "\n")
}
