package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	decides     = regexp.MustCompile("`(?:([a-zA-Z]+)\\.)?(\\w+)`(?: and `(?:([a-zA-Z]+)\\.)?(\\w+)`)? in `([^`]+\\.go)`")
	fileInTicks = regexp.MustCompile("`([\\w/]+\\.go)`")
)

// TestArchitectureNamesFunctions checks the table "Who decides" of ARCHITECTURE.md: each function or
// method is declared by the file that is named with it. Other files that the page names exist.
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
			declared, err := functionsIn(filepath.Join(root, filepath.FromSlash(m[5])))
			if err != nil {
				t.Error(err)
				continue
			}
			for _, f := range [][]string{m[1:3], m[3:5]} {
				if name := strings.TrimPrefix(f[0]+"."+f[1], "."); name != "" && !slices.Contains(declared, name) {
					t.Errorf("%s declares no %s", m[5], name)
				}
			}
		}
	}
	if rows < 25 {
		t.Errorf("%d rows", rows)
	}
}

// functionsIn returns the functions that a file declares. A method has the name of its type before it.
func functionsIn(file string) (all []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil {
			name = receiver(fn.Recv.List[0].Type) + "." + name
		}
		all = append(all, name)
	}
	return all, nil
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
