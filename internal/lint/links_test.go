package lint

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// fenced matches a fenced block, in which nothing is a link.
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	// link matches the target of a link, without what stands behind a "#".
	link = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
)

// TestLinksLeadToFiles follows each link from README.md, ARCHITECTURE.md, CONTRIBUTING.md and the
// documents below docs to a file or folder of the tree.
func TestLinksLeadToFiles(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	documents := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(root, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".md") {
			documents = append(documents, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, d := range documents {
		text, err := fs.ReadFile(root, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := fs.Stat(root, path.Join(path.Dir(d), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", d, m[1], err)
			}
		}
	}
	if links < 10 {
		t.Fatalf("found %d links: the search is broken", links)
	}
}
