package adopt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeModule writes the files of a module into a new folder.
func writeModule(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goFile returns a file of a package with imports and, with makes, a function that makes a manager.
func goFile(pkg string, imports []string, makes bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", pkg)
	for _, i := range imports {
		fmt.Fprintf(&b, "import _ %q\n", i)
	}
	if makes {
		fmt.Fprintf(&b, "import ctrl %q\n\nfunc run() { ctrl.NewManager(nil, ctrl.Options{}) }\n", ctrlPath)
	}
	return b.String()
}

// The file is chosen that makes the manager of the one program, wherever that is: in its own folder or in a package that
// it imports. Of several the error names each, and of none it says so.
func TestMainIsFound(t *testing.T) {
	const module = "example.com/m"
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		files := map[string]string{"go.mod": "module " + module + "\n\nrequire " + ctrlPath + " v0.22.4\n"}
		want := map[string]bool{}       // files that make the manager of a product
		programs := map[string]string{} // the file of a folder's program
		product := func(dir, file string) { want[file], programs[dir] = true, file }
		libraries := []string{"internal/app", "pkg/operator", "cmd/run/app", "core"}
		for _, lib := range libraries {
			files[lib+"/app.go"] = goFile("app", nil, true)
			if r.IntN(3) == 0 {
				files[lib+"/again/again.go"] = goFile("again", []string{module + "/" + lib}, false)
			}
		}
		dirs := []string{"cmd/one", "internal/cmd/two", "cmd/deep/er", "three", "test/four", "hack/five", "examples/six", "e2e"}
		r.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
		for _, dir := range dirs[:r.IntN(4)] {
			lib := libraries[r.IntN(len(libraries))]
			through := lib
			if files[lib+"/again/again.go"] != "" && r.IntN(2) == 0 {
				through += "/again"
			}
			made := ""
			switch r.IntN(4) {
			case 0: // in a file of its own
				files[dir+"/main.go"], files[dir+"/run.go"] = goFile("main", []string{module + "/" + lib}, false), goFile("main", nil, true)
				made = dir + "/run.go"
			case 1:
				files[dir+"/main.go"] = goFile("main", nil, true)
				made = dir + "/main.go"
			case 2: // in a library
				files[dir+"/main.go"] = goFile("main", []string{module + "/" + through}, false)
				made = lib + "/app.go"
			default: // a tool
				files[dir+"/main.go"] = goFile("main", []string{"fmt"}, false)
			}
			if made != "" && !aside(dir) {
				product(dir, made)
			}
		}
		// None of these is a program of this module.
		others := map[string]string{
			"vendor/a.b/c/main.go": goFile("main", nil, true), "testdata/main.go": goFile("main", nil, true), "other/main.go": goFile("main", nil, true),
			"_old/main.go": goFile("main", nil, true), "core/app_test.go": goFile("app", nil, true),
			"gen/gen.go": "//go:build ignore\n\n" + goFile("main", nil, true),
		}
		for _, name := range slices.Sorted(maps.Keys(others)) {
			if r.IntN(2) == 0 {
				files[name] = others[name]
			}
		}
		files["other/go.mod"] = "module o\n"
		usual := ""
		for _, name := range []string{"main.go", "cmd/main.go"} { // the second one wins
			if r.IntN(6) == 0 {
				files[name] = goFile("main", nil, true)
				usual = name
			}
		}
		dir := writeModule(t, files)
		p, err := Load(dir, "")
		names := slices.Sorted(maps.Keys(want))
		shown := fmt.Sprintf("seed %d: %v; wanted %v, usual %q, of %v", seed, err, names, usual, slices.Sorted(maps.Keys(files)))
		switch {
		case usual != "":
			if err != nil || p.Main != usual {
				t.Fatal(shown)
			}
		case len(names) == 1:
			if err != nil || p.Main != names[0] {
				t.Fatal(shown)
			}
		case len(names) > 1:
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(": %d files make a manager: ", len(names))) || slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(err.Error(), n) }) {
				t.Fatal(shown)
			}
		default: // the libraries are all that is left
			if err == nil || !strings.Contains(err.Error(), ": 4 files make a manager: ") {
				t.Fatal(shown)
			}
		}
		for folder, file := range programs {
			if p, err := Load(dir, folder); err != nil || p.Main != file {
				t.Fatalf("--main %s: %v; wanted %s; %s", folder, err, file, shown)
			}
			if p, err := Load(dir, path.Join(dir, file)); err != nil || p.Main != file {
				t.Fatalf("--main %s: %v; %s", file, err, shown)
			}
		}
		if _, err := Load(dir, "nowhere"); err == nil || !strings.Contains(err.Error(), "--main") {
			t.Fatalf("%v; %s", err, shown)
		}
	}
}
