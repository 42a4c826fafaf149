package guides

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// code matches code within a line.
var code = regexp.MustCompile("`([^`]+)`")

// row is a line of a table: what the peer has, and what is in its place.
type row struct {
	names []string
	here  string
}

// tables returns the rows of a guide, by the package that stands as code in the heading above them.
func tables(text string) map[string][]row {
	out, pkg := map[string][]row{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "## "); ok {
			pkg = ""
			if m := code.FindStringSubmatch(h); m != nil {
				pkg = m[1]
			}
		}
		cells := strings.SplitN(strings.Trim(line, "|"), " | ", 2)
		if pkg == "" || !strings.HasPrefix(line, "|") || len(cells) < 2 {
			continue
		}
		var r row
		for _, m := range code.FindAllStringSubmatch(cells[0], -1) {
			r.names = append(r.names, m[1])
		}
		r.here = strings.TrimSpace(cells[1])
		if len(r.names) > 0 {
			out[pkg] = append(out[pkg], r)
		}
	}
	return out
}

// compareAPI returns what is wrong with the tables of a guide: names that are missing, stale or listed
// twice, and rows that say nothing. "X.*" stands for X and all that it has, in rows for which there is
// nothing here.
func compareAPI(guide map[string][]row, peer api) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for pkg, rows := range guide {
		if peer[pkg] == nil {
			report("%s: there is no such package", pkg)
			continue
		}
		seen := map[string]bool{}
		for _, r := range rows {
			if len(strings.TrimLeft(r.here, "– ")) < 3 {
				report("%s: %s: the row does not say what to do", pkg, r.names[0])
			}
			for _, name := range r.names {
				covered := []string{name}
				if owner, ok := strings.CutSuffix(name, ".*"); ok {
					covered = nil
					for n := range peer[pkg] {
						if n == owner || strings.HasPrefix(n, owner+".") {
							covered = append(covered, n)
						}
					}
					if len(covered) == 0 {
						report("%s: %s does not exist", pkg, name)
					}
					if !strings.HasPrefix(r.here, "–") {
						report("%s: %s: there is something in its place: name each field and method", pkg, name)
					}
				}
				for _, n := range covered {
					if !peer[pkg][n] {
						report("%s: %s does not exist", pkg, n)
					}
					if seen[n] {
						report("%s: %s has two rows", pkg, n)
					}
					seen[n] = true
				}
			}
		}
		for n := range peer[pkg] {
			if !seen[n] {
				report("%s: %s has no row", pkg, n)
			}
		}
	}
	for pkg := range peer {
		if guide[pkg] == nil {
			report("%s has no table", pkg)
		}
	}
	slices.Sort(problems)
	return problems
}
