package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first controller of the README is the one that compiles as an Example, in 40 lines.
func TestReadmeShowsTheExample(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	_, after, _ := strings.Cut(read("README.md"), "```go\n")
	shown, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("README.md has no Go code")
	}
	want := strings.NewReplacer("package flyball_test", "package main", "func Example_first()", "func main()").
		Replace(read("example_first_test.go"))
	if shown != want {
		t.Errorf("README.md shows\n%s\nexample_first_test.go has\n%s", shown, want)
	}
	if n := strings.Count(shown, "\n"); n > 40 {
		t.Errorf("the first controller has %d lines, want at most 40", n)
	}
}
