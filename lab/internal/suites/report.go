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
	// Names has the name of each.
	Names []string
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
			Failure                 struct{ Message, ForwardedPanic string }
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
			if spec.State == "skipped" {
				continue
			}
			r.Specs++
			r.Names = append(r.Names, name)
			switch spec.State {
			case "passed":
				r.Passed++
			case "pending":
				r.Pending++
			default:
				r.Failed = append(r.Failed, strings.TrimSuffix(name+"\n"+spec.Failure.Message+"\n"+spec.Failure.ForwardedPanic, "\n"))
			}
		}
	}
	return r, nil
}

var (
	// started matches the line that begins or continues the output of a test, ended the line that ends it.
	started = regexp.MustCompile(`^=== (RUN|CONT|NAME) +(\S+)$`)
	ended   = regexp.MustCompile(`^[ \t]*--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
)

// GoTest reads what a test binary wrote with -test.v=test2json. Tests within tests count. A test that began and
// did not end has failed: the program ended, or its time was up.
func GoTest(out []byte) *Report {
	var names []string
	outcome, output := map[string]string{}, map[string][]string{}
	now := ""
	for line := range strings.Lines(strings.ReplaceAll(string(out), "\x16", "\n")) { // a marker may follow a line without an end
		line = strings.TrimSuffix(line, "\n")
		if m := started.FindStringSubmatch(line); m != nil {
			if now = m[2]; m[1] == "RUN" {
				names = append(names, now)
			}
		} else if m := ended.FindStringSubmatch(line); m != nil {
			outcome[m[2]] = m[1]
		} else if strings.TrimSpace(line) != "" && len(output[now]) < mostLines {
			output[now] = append(output[now], line)
		}
	}
	r := &Report{Names: names, Specs: len(names)}
	for _, name := range names {
		switch outcome[name] {
		case "PASS":
			r.Passed++
		case "SKIP":
			r.Pending++
		case "FAIL":
			r.Failed = append(r.Failed, strings.Join(append([]string{name}, output[name]...), "\n"))
		default:
			r.Failed = append(r.Failed, strings.Join(append([]string{name, "it has not ended"}, output[name]...), "\n"))
		}
	}
	return r
}

// mostLines is how much of the output of a test that failed is kept.
const mostLines = 40

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
