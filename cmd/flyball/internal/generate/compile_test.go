package generate

import (
	"errors"
	"maps"
	"testing"
)

// Compile checks the whole module with its tests, as the go command builds them, and writes nothing.
func TestCompile(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir}
	wants := func(what, want string) {
		t.Helper()
		before := state(t, dir)
		var problems Problems
		got := ""
		if err := Compile(t.Context(), o); errors.As(err, &problems) {
			got = problems.Error()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
		}
		if after := state(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: touched %v", what, difference(before, after))
		}
	}
	apply(t, All, o)
	// What a test adds to a package is there for tests in the same folder only, also by way of another package.
	write(t, dir, "part/part.go", []byte("package part\n\ntype Part struct{ N int }\n"))
	write(t, dir, "part/export_test.go", []byte("package part\n\nfunc New() Part { return Part{1} }\n"))
	write(t, dir, "whole/whole.go", []byte("package whole\n\nimport \"example.com/shop/part\"\n\nfunc Of(p part.Part) int { return p.N }\n"))
	write(t, dir, "part/part_test.go", []byte(`package part_test

import (
	"testing"

	"example.com/shop/part"
	"example.com/shop/whole"
)

func TestPart(t *testing.T) { t.Log(whole.Of(part.New())) }
`))
	wants("all right", "")

	write(t, dir, "whole/whole_test.go", []byte("package whole\n\nimport \"example.com/shop/part\"\n\nvar p = part.New()\n"))
	write(t, dir, "main/main.go", []byte("package main\n\nfunc main() { println(1 + \"\") }\n"))
	edit(t, dir, "api/v1/zz_generated.deepcopy.go", "package v1\n", "package v1; var _ int = nil\n")
	wants("wrong", `api/v1/zz_generated.deepcopy.go:5:25: cannot use nil as int value in variable declaration
api/v1/zz_generated.deepcopy.go:7:1: imports must appear before other declarations
main/main.go:3:23: invalid operation: 1 + "" (mismatched types untyped int and untyped string)
whole/whole_test.go:5:14: undefined: part.New`)
	write(t, dir, "main/main.go", []byte("package main\n\nimport _ \"embed\"\n\n//go:embed none.txt\nvar text string\n\nfunc main() {}\n"))
	write(t, dir, "whole/whole_test.go", []byte("package whole\n"))
	edit(t, dir, "api/v1/zz_generated.deepcopy.go", "package v1; var _ int = nil\n", "package v1\n")
	wants("without an embedded file", "main/main.go:5:12: pattern none.txt: no matching files found")
	write(t, dir, "main/main.go", []byte("package main\n\nfunc main() {}\n"))
	write(t, dir, "part/cycle_test.go", []byte("package part\n\nimport _ \"example.com/shop/whole\"\n"))
	wants("cycle", `example.com/shop/part: import cycle not allowed in test: import stack: [example.com/shop/part example.com/shop/whole example.com/shop/part]
part/part_test.go:10:46: cannot use part.New() (value of struct type part.Part) as part.Part value in argument to whole.Of`)
}
