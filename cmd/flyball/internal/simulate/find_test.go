package simulate

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The tests that call sim.Check are found, also where they call it by something else of their package.
func TestCallers(t *testing.T) {
	const plain = `import "github.com/flyball-io/flyball/sim"` + "\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"itself":             {map[string]string{"a_test.go": plain + `func TestA(t *testing.T) { sim.Check(t, s) }; func TestB(t *testing.T) { sim.Apply("x") }`}, []string{"TestA"}},
		"in a subtest":       {map[string]string{"a_test.go": plain + `func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { sim.Check(t, s) }) }`}, []string{"TestA"}},
		"by a function":      {map[string]string{"a_test.go": `func TestA(t *testing.T) { one(t) }; func TestB(t *testing.T) { two(t) }; func one(t *testing.T) { three(t) }; func two(t *testing.T) { two(t) }`, "b_test.go": plain + `func three(t *testing.T) { sim.Check(t, s) }`}, []string{"TestA"}},
		"by a variable":      {map[string]string{"a_test.go": plain + `var all = map[string]func(*testing.T){"x": func(t *testing.T) { sim.Check(t, s) }}; func TestA(t *testing.T) { all["x"](t) }`}, []string{"TestA"}},
		"by a method":        {map[string]string{"a_test.go": plain + `type s struct{}; func (*s) run(t *testing.T) { sim.Check(t, x) }; func TestA(t *testing.T) { new(s).run(t) }`}, []string{"TestA"}},
		"of a suite":         {map[string]string{"a_test.go": plain + `type s struct{}; func (*s) TestX() { sim.Check(nil, x) }; func TestA(t *testing.T) { suite.Run(t, new(s)) }`}, []string{"TestA"}},
		"of code, not tests": {map[string]string{"a.go": plain + `func Check(t *testing.T) { sim.Check(t, s) }`, "a_test.go": `func TestA(t *testing.T) { Check(t) }`}, []string{"TestA"}},
		"another name":       {map[string]string{"a_test.go": `import other "github.com/flyball-io/flyball/sim"` + "\n" + `func TestA(t *testing.T) { other.Check(t, s) }; func TestB(t *testing.T) { sim.Check(t, s) }`}, []string{"TestA"}},
		"no name":            {map[string]string{"a_test.go": `import . "github.com/flyball-io/flyball/sim"` + "\n" + `func TestA(t *testing.T) { Check(t, s) }`}, []string{"TestA"}},
		"another sim":        {map[string]string{"a_test.go": `import "example.com/sim"` + "\n" + `func TestA(t *testing.T) { sim.Check(t, s) }`}, nil},
		"not tests":          {map[string]string{"a_test.go": plain + `func TestMain(m *testing.M) { sim.Check(t, s) }; func Testimony(t *testing.T) { sim.Check(t, s) }; func ExampleX() { sim.Check(t, s) }; func Test(t *testing.T) { sim.Check(t, s) }`, "b.go": plain + `func TestB(t *testing.T) { sim.Check(t, s) }`}, []string{"Test"}},
		"without a body":     {map[string]string{"a_test.go": plain + `func TestA(t *testing.T)`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := listed{Dir: t.TempDir()}
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(p.Dir, file), []byte("package a\n"+text), 0o600); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(file, "_test.go") {
					p.TestGoFiles = append(p.TestGoFiles, file)
				} else {
					p.GoFiles = append(p.GoFiles, file)
				}
			}
			if got, err := callers(p); err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("%v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// Of this repository those packages are found that have simulations, and none beside them.
func TestFindsOurs(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	got, err := Find(t.Context(), root, []string{"./examples/podjournal", "./object", "./examples/podscaler/..."})
	want := []Package{{Path: "github.com/flyball-io/flyball/examples/podjournal", Tests: []string{"TestSim"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
