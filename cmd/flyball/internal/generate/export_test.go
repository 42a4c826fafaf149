package generate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// The source of the standard library is read only for a definition that has a type of it, and nothing differs then.
func TestStandardLibrary(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Parallel()
	dir := newProject(t, "shop.txtar")
	o := Options{Dir: dir, Env: []string{"CGO_ENABLED=1"}}
	made := func(source bool) (*project, map[string]string) {
		t.Helper()
		p, plan, err := planOnce(t.Context(), o, source, true, true, []part{(*project).planCode, (*project).planManifests})
		if p == nil || err != nil && !p.lacking() {
			t.Fatal(err)
		}
		files := map[string]string{}
		if err == nil {
			for _, f := range plan.Write {
				files[f.Path] = string(f.Data)
			}
		}
		return p, files
	}
	p, without := made(false)
	if at := checked(p); len(p.std) == 0 || p.lacking() || len(at) > 0 {
		t.Errorf("packages of the standard library: %d by their types, lacking %v; from source %q", len(p.std), p.lacking(), at)
	}
	if p, with := made(true); len(without) == 0 || !maps.Equal(without, with) || len(checked(p)) == 0 {
		t.Errorf("with its source %q differ; from source %q", difference(without, with), checked(p))
	}

	const imports = "import (\n"
	edit(t, dir, "api/v1/order.go", imports, imports+"	\"time\"\n\n")
	edit(t, dir, "api/v1/order.go", "	Size int32 `json:\"size\"`\n", "	Size int32 `json:\"size\"`\n	// Wait is a while.\n	Wait time.Duration `json:\"wait,omitempty\"`\n")
	if p, _ := made(false); !p.lacking() {
		t.Error("a definition has a duration, and its type is lacking nowhere")
	}
	plan := apply(t, All, o)
	if !slices.ContainsFunc(plan.Write, func(f File) bool {
		return strings.HasSuffix(f.Path, "_orders.yaml") && strings.Contains(string(f.Data), "description: Wait is a while.")
	}) {
		t.Errorf("of %q, no definition has the duration", plan.Paths())
	}
	edit(t, dir, "api/v1/order.go", "	\"time\"\n\n", "")
	edit(t, dir, "api/v1/order.go", "	Wait time.Duration `json:\"wait,omitempty\"`\n", "")

	// The same holds for cgo in a package with kinds, and not for one elsewhere.
	const cgo = "// #define ONE 1\nimport \"C\"\n\nconst One = C.ONE\n"
	write(t, dir, "one/one.go", []byte("package one\n\n"+cgo))
	if p, _ := made(false); p.lacking() {
		t.Error("what cgo makes of a package without kinds is lacking")
	}
	write(t, dir, "api/v1/one.go", []byte("package v1\n\n"+cgo))
	if p, _ := made(false); !p.lacking() {
		t.Error("what cgo makes of a package is lacking nowhere")
	}
	apply(t, All, o)
}

// checked returns the packages of the standard library whose source was read.
func checked(p *project) (out []string) {
	for _, pkg := range p.imported() {
		if len(pkg.Syntax) > 0 {
			out = append(out, pkg.PkgPath)
		}
	}
	return out
}
