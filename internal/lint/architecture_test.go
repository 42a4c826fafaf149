package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	decides     = regexp.MustCompile("`(?:[a-zA-Z]+\\.)?(\\w+)` in `([^`]+\\.go)`")
	fileInTicks = regexp.MustCompile("`([\\w/]+\\.go)`")
)

// TestArchitectureNamesFunctions checks the table "Who decides" of ARCHITECTURE.md: each function is in
// the file that is named with it. Other files that the page names exist.
func TestArchitectureNamesFunctions(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fileInTicks.FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
			t.Error(err)
		}
	}
	_, table, _ := strings.Cut(string(page), "## Who decides\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| question") {
			continue
		}
		rows++
		named := decides.FindAllStringSubmatch(row, -1)
		if len(named) == 0 {
			t.Errorf("no function in %s", row)
		}
		for _, m := range named {
			src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m[2])))
			if err != nil {
				t.Error(err)
			} else if !regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + m[1] + `\b`).Match(src) {
				t.Errorf("%s has no function %s", m[2], m[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d rows", rows)
	}
}

// TestArchitectureNamesPackages checks the code map of ARCHITECTURE.md: it names every package with its
// floor.
func TestArchitectureNamesPackages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, codeMap, _ := strings.Cut(string(page), "## Code map\n")
	codeMap, _, _ = strings.Cut(codeMap, "\n## ")
	for i, floor := range floors {
		label := "–"
		if i > 0 {
			label = fmt.Sprint(i - 1)
		}
		for name := range floor {
			if name == "" {
				name = "flyball"
			}
			row := regexp.MustCompile("(?m)^\\| " + label + " \\| .*`" + regexp.QuoteMeta(name) + "`.*\\|$")
			if !row.MatchString(codeMap) {
				t.Errorf("the code map does not have %s on floor %s", name, label)
			}
		}
	}
}
