package scaffold

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes files into a project.
func writeAll(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
}

// older returns a version of the files that this program makes: some lines are missing, and some are others. go.mod is
// the same.
func older(r *rand.Rand, is map[string][]byte) map[string][]byte {
	was := map[string][]byte{}
	for name, data := range is {
		was[name] = data
		if name == "go.mod" || name == ProjectFile || r.IntN(3) > 0 {
			continue
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		var out [][]byte
		for i, line := range lines {
			switch n := r.IntN(20); {
			case i == 0 || n > 1: // the first line says whose the file is
				out = append(out, line)
			case n == 1:
				out = append(out, fmt.Appendf(nil, "# old %d\n", i))
			}
		}
		was[name] = bytes.Join(out, nil)
	}
	return was
}

// newestFiles returns what this program makes of the project in dir.
func newestFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	p, err := Load(dir)
	must(t, err)
	src, err := FindSource("", dir)
	must(t, err)
	is, err := rendered(t.Context(), p, src)
	must(t, err)
	return is
}

func upgradeFrom(dir string, was map[string][]byte, write bool) UpgradeOptions {
	return UpgradeOptions{Options: unbuilt(dir), From: "v0.0.1", Write: write,
		base: func(context.Context, string) (map[string][]byte, error) { return maps.Clone(was), nil }}
}

// Two made versions, and a project of the older one with changes of its own, drawn at random: each line of the user and
// each of the new version is in the result. Where both are at one place the file is named, and has markers. A project
// without such changes becomes what the new version makes. Without Write nothing changes.
func TestUpgradeMerges(t *testing.T) {
	dir := newShop(t)
	is := newestFiles(t, dir)
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		was := older(r, is)
		files := maps.Clone(was)
		delete(files, "go.mod")
		mine := map[string][]string{}
		if seed > 0 { // the first project has no changes
			for name := range files {
				if name == ProjectFile || ownedByFlyball(files[name]) || r.IntN(3) > 0 {
					continue
				}
				lines := bytes.SplitAfter(files[name], []byte("\n"))
				for k := range 1 + r.IntN(3) {
					line := fmt.Sprintf("# mine %d of %d\n", k, seed)
					lines = slices.Insert(lines, 1+r.IntN(max(1, len(lines)-1)), []byte(line))
					mine[name] = append(mine[name], line)
				}
				files[name] = bytes.Join(lines, nil)
			}
		}
		writeAll(t, dir, files)
		before := snapshot(t, dir)
		u, err := Upgrade(t.Context(), upgradeFrom(dir, was, false))
		must(t, err)
		if after := snapshot(t, dir); !maps.Equal(before, after) {
			t.Fatalf("seed %d: the project has changed without Write", seed)
		}
		written, err := Upgrade(t.Context(), upgradeFrom(dir, was, true))
		must(t, err)
		if len(u.Changes) != len(written.Changes) || !slices.Equal(u.Conflicts, written.Conflicts) {
			t.Errorf("seed %d: %d changes and conflicts %q were shown, %d and %q written", seed, len(u.Changes), u.Conflicts, len(written.Changes), written.Conflicts)
		}
		for name, next := range is {
			if name == "go.mod" {
				continue
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			conflict := slices.Contains(u.Conflicts, name)
			if marked := bytes.Contains(got, []byte("<<<<<<< ")); marked != conflict {
				t.Errorf("seed %d: %s has markers: %v; it is named: %v", seed, name, marked, conflict)
			}
			if len(mine[name]) == 0 && !bytes.Equal(got, next) {
				t.Errorf("seed %d: %s has no change of the user, and is not as the new version makes it", seed, name)
			}
			for _, line := range mine[name] {
				if !bytes.Contains(got, []byte(line)) {
					t.Errorf("seed %d: %s has lost %q", seed, name, line)
				}
			}
			for line := range bytes.Lines(next) {
				if !bytes.Contains(got, line) {
					t.Errorf("seed %d: %s lacks %q of the new version", seed, name, line)
				}
			}
		}
	}
}

// Files that one of the versions does not make, and those that the user has removed or taken over.
func TestUpgradeOfWholeFiles(t *testing.T) {
	dir := newShop(t)
	is := newestFiles(t, dir)
	was := maps.Clone(is)
	delete(was, "Dockerfile")            // the new version makes it, the user has one
	delete(was, "README.md")             // the new version makes it, the user has none
	was["gone.txt"] = []byte("old\n")    // no version makes it any more
	was["changed.txt"] = []byte("old\n") // the same, with a change of the user
	was["Makefile"] = []byte("old:\n")   // removed by the user
	writeAll(t, dir, map[string][]byte{"Dockerfile": []byte("FROM mine\n"), "gone.txt": []byte("old\n"), "changed.txt": []byte("mine\n"),
		"internal/setup/setup.go": []byte("// " + ownedMark + "\n\npackage setup // of the old version\n")})
	must(t, os.Remove(filepath.Join(dir, "README.md")), os.Remove(filepath.Join(dir, "Makefile")))
	u, err := Upgrade(t.Context(), upgradeFrom(dir, was, true))
	must(t, err)
	for name, want := range map[string]string{"Dockerfile": "FROM mine\n", "README.md": string(is["README.md"]), "changed.txt": "mine\n", "gone.txt": "", "Makefile": "",
		"internal/setup/setup.go": string(is["internal/setup/setup.go"])} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if want == "" {
			if !os.IsNotExist(err) {
				t.Errorf("%s: %v, want no such file", name, err)
			}
			continue
		}
		if string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	notes := strings.Join(u.Notes, "\n")
	for _, name := range []string{"Dockerfile: ", "changed.txt: ", "Makefile: "} {
		if strings.Count(notes, name) != 1 {
			t.Errorf("notes %q, want one of %s", notes, name)
		}
	}
}

// Files of the user import packages of Flyball where they are now, in any form, and are otherwise the same.
func TestUpgradeMovesImports(t *testing.T) {
	dir := newShop(t)
	is := newestFiles(t, dir)
	was := maps.Clone(is)
	const main = "cmd/main.go"
	was[main] = bytes.ReplaceAll(was[main], []byte(flyballModule+"/ops/"), []byte(flyballModule+"/"))
	const old = "package own\n\nimport (\n\t\"context\"\n\n\tkeys \"" + flyballModule + "/cert\"\n\t_ \"" + flyballModule + "/client\"\n\t\"" + flyballModule + "/leader\"\n\t\"example.com/cert\"\n)\n\n// \"" + flyballModule + "/cert\" is text.\n"
	const want = "package own\n\nimport (\n\t\"context\"\n\n\t\"example.com/cert\"\n\t_ \"" + flyballModule + "/client\"\n\tkeys \"" + flyballModule + "/ops/cert\"\n\t\"" + flyballModule + "/ops/leader\"\n)\n\n// \"" + flyballModule + "/cert\" is text.\n"
	must(t, os.MkdirAll(filepath.Join(dir, "own"), 0o777))
	formatted, err := format.Source([]byte(old))
	must(t, err)
	files := map[string][]byte{"own/sorted.go": formatted, "own/one.go": []byte("package own\nimport   \"" + flyballModule + "/test/apiserver\"\n"),
		"own/broken.go": []byte("package own\nimport \"" + flyballModule + "/serve\n"), "own/text.txt": []byte(flyballModule + "/probe\n"), main: was[main]}
	writeAll(t, dir, files)
	_, err = Upgrade(t.Context(), upgradeFrom(dir, was, true))
	must(t, err)
	files["own/sorted.go"] = []byte(want)
	files["own/one.go"] = []byte("package own\nimport   \"" + flyballModule + "/apiserver\"\n")
	files[main] = is[main]
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s%v", name, got, want, err)
		}
	}
	for from, to := range moved {
		if info, err := os.Stat(filepath.Join("..", "..", "..", "..", filepath.FromSlash(to))); err != nil || !info.IsDir() {
			t.Errorf("%s has moved to %s, which is not there: %v", from, to, err)
		}
	}
}

// go.mod gets the new version of the modules of Flyball, and of the libraries that are as the old version made them.
func TestUpgradeOfGoMod(t *testing.T) {
	const own = "module example.com/shop\n\ngo 1.25\n\nrequire (\n\tgithub.com/flyball-io/flyball v0.1.0\n\tgithub.com/flyball-io/flyball/adapter v0.1.0\n\texample.com/other v1.0.0\n\tk8s.io/api v0.34.0\n\tk8s.io/client-go v0.35.0\n)\n"
	const was = "module example.com/shop\n\ngo 1.25\n\nrequire (\n\tgithub.com/flyball-io/flyball v0.1.0\n\tk8s.io/api v0.34.0\n\tk8s.io/client-go v0.34.0\n)\n"
	const is = "module example.com/shop\n\ngo 1.26\n\nrequire (\n\tgithub.com/flyball-io/flyball v0.2.0\n\tk8s.io/api v0.37.0\n\tk8s.io/client-go v0.37.0\n)\n"
	const want = "module example.com/shop\n\ngo 1.26\n\nrequire (\n\tgithub.com/flyball-io/flyball v0.2.0\n\tgithub.com/flyball-io/flyball/adapter v0.2.0\n\texample.com/other v1.0.0\n\tk8s.io/api v0.37.0\n\tk8s.io/client-go v0.35.0\n)\n"
	replaced := own + "\nreplace github.com/flyball-io/flyball => ../flyball\n"
	for _, mod := range []string{own, replaced} {
		got, err := upgradeMod([]byte(mod), []byte(was), []byte(is), &Source{Version: "v0.2.0"})
		must(t, err)
		if strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	for _, tc := range []struct{ mod, given, want, fails string }{
		{own, "", "v0.1.0", ""},
		{own, "v0.0.9", "v0.0.9", ""},
		{replaced, "", "", "--from"},
		{replaced, "/checkout", "/checkout", ""},
		{"module example.com/shop\n", "", "", "--from"},
	} {
		got, err := madeBy([]byte(tc.mod), tc.given)
		if got != tc.want || (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
			t.Errorf("made by %q, %v, want %q", got, err, tc.want)
		}
	}
}
