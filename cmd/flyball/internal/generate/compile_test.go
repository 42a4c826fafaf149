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
		if got := problemsOf(t, Compile(t.Context(), o)); got != want {
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

	// What cgo makes of a package is checked.
	o.Env = []string{"CGO_ENABLED=1"}
	write(t, dir, "one/one.go", []byte("package one\n\n// #define ONE 1\nimport \"C\"\n\nvar One string = C.ONE\n"))
	wants("with a wrong type by cgo", "one/one.go:6:18: cannot use (_Ciconst_ONE) (untyped int constant 1) as string value in variable declaration")
	write(t, dir, "one/one.go", []byte("package one\n"))

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

// All checks the whole module as it will be: code that is generated anew, and not what was generated earlier for types
// that are gone. The file of another tool stays, and is checked.
func TestAllCompiles(t *testing.T) {
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir}
	write(t, dir, "part/part.go", []byte("package part\n"))
	write(t, dir, "part/zz_generated.deepcopy.go", []byte("package part\n\n"+codeMark+"\n\nfunc (in *Gone) DeepCopy() *Gone { return in }\n"))
	write(t, dir, "other/other.go", []byte("package other\n\nvar Of = From\n"))
	write(t, dir, "other/zz_generated.deepcopy.go", []byte("package other\n\nvar From = 1\n"))
	if plan := apply(t, All, o); !plan.Compiles {
		t.Error("All says that it did not check whether all compiles")
	}
	write(t, dir, "other/other_test.go", []byte("package other\n\nvar of string = Of\n"))
	_, err := All(t.Context(), o)
	const want = "other/other_test.go:3:17: cannot use Of (variable of type int) as string value in variable declaration"
	if got := problemsOf(t, err); got != want || problemsOf(t, Compile(t.Context(), o)) != want {
		t.Errorf("%s\nwant, as Compile says:\n%s", got, want)
	}
	o.Paths = []string{"./api/v1"}
	if plan := apply(t, All, o); plan.Compiles {
		t.Error("All of one package says that it checked whether all compiles")
	}
}

// problemsOf returns the text of an error that is [Problems], or "".
func problemsOf(t *testing.T, err error) string {
	t.Helper()
	problems, ok := errors.AsType[Problems](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	return problems.Error()
}
