package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// exampleFunc matches an Example at the top level of a test file.
	exampleFunc = regexp.MustCompile(`(?m)^func (Example\w*)\(\)`)
	// exampleRow matches a row of the index: package.Example, the file, and the question.
	exampleRow = regexp.MustCompile("(?m)^\\| \\[`(\\w+)\\.(Example\\w*)`\\]\\(\\.\\./([^)]+)\\) \\| (.*\\S) \\|$")
)

// TestIndexListsEveryExample compares the index in docs/README.md with the Examples of the core
// module: each Example has one row with a question, and each row names an Example that exists.
func TestIndexListsEveryExample(t *testing.T) {
	index, err := os.ReadFile(filepath.Join("..", "..", "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, row := range exampleRow.FindAllStringSubmatch(string(index), -1) {
		pkg, name, file := row[1], row[2], row[3]
		listed[file+" "+name]++
		want := path.Base(path.Dir(file))
		if want == "." {
			want = path.Base(module)
		}
		if pkg != want {
			t.Errorf("docs/README.md says %s.%s, but %s is of package %s", pkg, name, file, want)
		}
	}
	if rows := strings.Count(string(index), ".Example"); rows != len(listed) {
		t.Errorf("docs/README.md mentions %d Examples, and has %d rows for them", rows, len(listed))
	}
	found := 0
	for _, f := range files(t) {
		if !f.test || strings.HasPrefix(f.pkg, "internal/") {
			continue
		}
		src, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range exampleFunc.FindAllStringSubmatch(string(src), -1) {
			found++
			key := f.path + " " + m[1]
			if listed[key] != 1 {
				t.Errorf("docs/README.md has %d rows for %s of %s, want 1", listed[key], m[1], f.path)
			}
			delete(listed, key)
		}
	}
	if found < 10 {
		t.Fatalf("found %d Examples: the search is broken", found)
	}
	for key := range listed {
		file, name, _ := strings.Cut(key, " ")
		t.Errorf("docs/README.md lists %s of %s, which does not exist", name, file)
	}
}
