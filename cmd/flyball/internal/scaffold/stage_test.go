package scaffold

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	shop  = Project{Domain: "example.com", Module: "example.com/shop"}
	order = NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true}
)

// newShop makes a project, which the test changes by hand.
func newShop(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	if _, err := Init(t.Context(), unbuilt(dir), shop); err != nil {
		t.Fatal(err)
	}
	return dir
}

// snapshot returns the contents of a folder, with links as their targets.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			out[file], err = os.Readlink(file)
			return err
		}
		data, err := os.ReadFile(file)
		out[file] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// The parent folder of a project may be read-only, and on another file system: nothing is made in
// it.
func TestParentIsLeftAlone(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "shop")
	must(t, os.Mkdir(dir, 0o777))
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // another file system, if there is one
	}
	o := unbuilt(dir)
	var copied string
	o.Generate = func(_ context.Context, copy string) error {
		copied = copy
		if got := names(t, parent); !slices.Equal(got, []string{"shop"}) {
			t.Errorf("beside the project there is, while it is made: %q", got)
		}
		if got := names(t, dir); len(got) > 0 {
			t.Errorf("in the project there is, before all of it is right: %q", got)
		}
		return nil
	}
	if _, err := Init(t.Context(), o, shop); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".flyball-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A folder that cannot be written is detected before the work, and nothing is made on the way.
func TestUnwritable(t *testing.T) {
	parent := t.TempDir()
	must(t, os.WriteFile(filepath.Join(parent, "file"), nil, 0o666))
	o := unbuilt(filepath.Join(parent, "file", "shop"))
	o.command = func(context.Context, string, string, ...string) error {
		t.Error("work was done")
		return nil
	}
	if _, err := Init(t.Context(), o, shop); err == nil {
		t.Error("no error")
	}
	o.Dir = filepath.Join(parent, "a", "b", "shop")
	o.command = func(context.Context, string, string, ...string) error { return errors.New("no go") }
	if _, err := Init(t.Context(), o, shop); err == nil || err.Error() != "no go" {
		t.Errorf("got %v", err)
	}
	if got := names(t, parent); !slices.Equal(got, []string{"file"}) {
		t.Errorf("left behind: %q", got)
	}
}

// Files that a step writes keep their permissions.
func TestPermissions(t *testing.T) {
	dir := newShop(t)
	file := filepath.Join(dir, ProjectFile)
	must(t, os.Chmod(file, 0o640))
	if _, err := CreateAPI(t.Context(), unbuilt(dir), order); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Relative paths of replaced modules are valid in the copy too, and stay unchanged in the project.
func TestRelativeReplace(t *testing.T) {
	dir := newShop(t)
	const text = `module example.com/shop

go 1.26

// beside
replace example.com/a => ../a

replace (
	example.com/b v1.0.0 => ./b // inside
	example.com/c => example.com/d v1.0.0
	example.com/e => /e
)
`
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666))
	o := unbuilt(dir)
	o.Generate = func(_ context.Context, copy string) error {
		data, err := os.ReadFile(filepath.Join(copy, "go.mod"))
		must(t, err)
		for _, want := range []string{"example.com/a => " + filepath.Join(filepath.Dir(dir), "a") + "\n", "=> " + filepath.Join(dir, "b") + " // inside", "=> example.com/d v1.0.0", "=> /e\n"} {
			if !strings.Contains(string(data), want) {
				t.Errorf("the copy lacks %q: %s", want, data)
			}
		}
		// As "go mod tidy" would.
		return os.WriteFile(filepath.Join(copy, "go.mod"), []byte(strings.Replace(string(data), "go 1.26\n", "go 1.26\n\nrequire example.com/a v1.0.0\n", 1)), 0o666)
	}
	if _, err := CreateAPI(t.Context(), o, order); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	must(t, err)
	if diff := cmp.Diff(strings.Replace(text, "go 1.26\n", "go 1.26\n\nrequire example.com/a v1.0.0\n", 1), string(data)); diff != "" {
		t.Error(diff)
	}
}

// A go.mod without changes by the step keeps its text, however it is formatted.
func TestUnformattedGoMod(t *testing.T) {
	dir := newShop(t)
	const text = "module   \"example.com/shop\"\ngo 1.26\nreplace example.com/a   => ../a\n"
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666))
	r, err := CreateAPI(t.Context(), unbuilt(dir), order)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || string(data) != text || slices.Contains(r.Files, "go.mod") {
		t.Errorf("%s, %v, %q", data, err, r.Files)
	}
}

// Links within the project are followed, and kept.
func TestLinksInside(t *testing.T) {
	for name, link := range map[string]struct{ at, to, moved string }{
		"folder":                  {"config/samples", "../deploy/samples", "deploy/samples"},
		"folder, absolute":        {"config/samples", "DIR/deploy/samples", "deploy/samples"},
		"folder of folders":       {"config", "deploy", "deploy"},
		"file":                    {"config/samples/kustomization.yaml", "../../deploy/k.yaml", "deploy/k.yaml"},
		"link to a link":          {"config/samples", "../second", "deploy/samples"},
		"a loop, and one besides": {"config/samples", "../deploy/samples", "deploy/samples"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newShop(t)
			at, moved := filepath.Join(dir, link.at), filepath.Join(dir, link.moved)
			to := strings.Replace(link.to, "DIR", dir, 1)
			must(t, os.MkdirAll(filepath.Dir(moved), 0o777), os.Rename(at, moved), os.Symlink(to, at))
			must(t, os.Symlink(link.moved, filepath.Join(dir, "second")))
			must(t, os.Symlink(".", filepath.Join(dir, "self")), os.Symlink("loop", filepath.Join(dir, "loop")), os.Symlink("nothing", filepath.Join(dir, "dangling")))
			r, err := CreateAPI(t.Context(), unbuilt(dir), order)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.Readlink(at); got != to {
				t.Errorf("the link is now %q, %v", got, err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "config/samples/kustomization.yaml"))
			if err != nil || !strings.Contains(string(data), "shop_v1_order.yaml") {
				t.Errorf("%s, %v", data, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "config/samples/shop_v1_order.yaml")); err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(r.Files, func(f string) bool { return strings.HasPrefix(f, link.moved) }) {
				t.Errorf("wrote %q, nothing in %s", r.Files, link.moved)
			}
		})
	}
}

// Links out of the project are kept, and nothing is written to their targets.
func TestLinksOutside(t *testing.T) {
	for name, link := range map[string]struct {
		at      string
		refused bool
	}{
		"not asked for":           {"docs", false},
		"a file not asked for":    {"internal/controller/more.yaml", false},
		"samples":                 {"config/samples", true},
		"all of config":           {"config", true},
		"a file":                  {"config/samples/kustomization.yaml", true},
		"a file yet to be made":   {"config/samples/shop_v1_order.yaml", true},
		"a folder yet to be made": {"api", true},
	} {
		for _, there := range []bool{true, false} {
			dir, away := newShop(t), t.TempDir()
			at, to := filepath.Join(dir, link.at), filepath.Join(away, "there")
			if _, err := os.Lstat(at); err == nil {
				must(t, os.Rename(at, to))
			} else if filepath.Ext(at) != "" {
				must(t, os.WriteFile(to, []byte("text"), 0o666))
			} else {
				must(t, os.Mkdir(to, 0o777))
			}
			must(t, os.Symlink(to, at))
			if !there {
				must(t, os.RemoveAll(to))
			}
			before, beside := snapshot(t, dir), snapshot(t, away)
			o := unbuilt(dir)
			o.Generate = func(_ context.Context, copy string) error {
				_, err := os.Stat(filepath.Join(copy, link.at))
				if there && err != nil {
					t.Errorf("%s: cannot be read in the copy: %v", name, err)
				}
				return nil
			}
			_, err := CreateAPI(t.Context(), o, order)
			if diff := cmp.Diff(beside, snapshot(t, away)); diff != "" {
				t.Errorf("%s: changed out of the project: %s", name, diff)
			}
			bad, ok := errors.AsType[*LinkError](err)
			switch {
			case !link.refused && err != nil:
				t.Errorf("%s: %v", name, err)
			case link.refused && (!ok || bad.Link != link.at || there && bad.To != to):
				t.Errorf("%s: got %v, want a LinkError", name, err)
			case link.refused && cmp.Diff(before, snapshot(t, dir)) != "":
				t.Errorf("%s: changed: %s", name, cmp.Diff(before, snapshot(t, dir)))
			}
		}
	}
}

// The project may be reached by a link.
func TestLinkToProject(t *testing.T) {
	dir := newShop(t)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	if _, err := CreateAPI(t.Context(), unbuilt(link), order); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(dir); err != nil || p.find("shop", "Order") == nil {
		t.Errorf("%v, %v", p, err)
	}
}

func TestInside(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o777), os.Symlink("a", filepath.Join(dir, "in")), os.Symlink(away, filepath.Join(dir, "out")), os.Symlink(filepath.Join(away, "no"), filepath.Join(dir, "a/no")))
	for file, want := range map[string]bool{
		"x": true, "a/b/c/d": true, "in/b/x": true, "in/new/x": true, dir + "/a/x": true,
		"out": false, "out/x": false, "out/new/x": false, "in/../../x": false, "a/no": false, "in/no": false, away + "/x": false,
	} {
		err := Inside(dir, "ok", file)
		if _, bad := errors.AsType[*LinkError](err); bad == want || err != nil && want {
			t.Errorf("%s: got %v, want inside: %v", file, err, want)
		}
	}
}

// Copies of one project have the same folder one after the other, and folders of their own at the same time.
func TestFolderOfCopies(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	project := newShop(t)
	var used []string
	copied := func(project string) *stage {
		t.Helper()
		s, err := newStage(project)
		must(t, err)
		t.Cleanup(s.drop)
		if _, err := os.Stat(filepath.Join(s.dir, "go.mod")); err != nil {
			t.Error(err)
		}
		used = append(used, s.dir)
		return s
	}
	first, meanwhile, other := copied(project), copied(project), copied(newShop(t))
	for _, s := range []*stage{first, meanwhile, other} {
		s.drop()
	}
	copied(project)
	slices.Sort(used[:3])
	if len(slices.Compact(used[:3])) != 3 || used[3] != first.dir {
		t.Errorf("folders %q: want three, and the first once more", used)
	}
}
