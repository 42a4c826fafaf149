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
	links := 0
	for _, d := range append(documents(t), "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md") {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fenced.ReplaceAllString(document(t, d), ""), "code"), -1) {
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
