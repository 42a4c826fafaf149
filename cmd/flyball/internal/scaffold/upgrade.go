package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// UpgradeOptions configures [Upgrade].
type UpgradeOptions struct {
	Options
	// From is what made the project, or upgraded it last: a version of Flyball, or the folder of a checkout. Empty
	// means the version that go.mod requires.
	From string
	// Write writes the changes. Without it the project stays as it is.
	Write bool

	// base replaces Render of the other version in tests.
	base func(ctx context.Context, from string) (map[string][]byte, error)
}

// Upgraded is the result of [Upgrade].
type Upgraded struct {
	// From and To are versions, or folders of checkouts.
	From, To string
	// Changes are the files that differ, by name.
	Changes []Change
	// Conflicts are the names of files where the project and the new version change the same lines. They have
	// the markers of git. While there are any, nothing is generated or compiled.
	Conflicts []string
	// Notes name the files that differ from what the new version makes, and stay as they are.
	Notes []string
}

// Upgrade moves a project from another version of Flyball to this one. For each file that is not about one kind there
// are three texts: what the other version made (the base), what this one makes, and that of the project. The changes
// between the first two are merged into the third. Files that flyball maintains are written anew. Imports of packages
// that have moved are changed in every Go file. In go.mod, modules of Flyball get this version. Kubernetes libraries that
// are as the other version made them get those of this one.
func Upgrade(ctx context.Context, o UpgradeOptions) (*Upgraded, error) {
	s, p, err := begin(o.Options)
	if err != nil {
		return nil, err
	}
	defer s.drop()
	src, err := FindSource(o.FlyballDir, s.project)
	if err != nil {
		return nil, err
	}
	mod, _ := s.had("go.mod")
	from, err := madeBy(mod, o.From)
	if err != nil {
		return nil, err
	}
	is, err := rendered(ctx, p, src)
	if err != nil {
		return nil, err
	}
	if o.base == nil {
		o.base = func(ctx context.Context, from string) (map[string][]byte, error) {
			s.o.say("what Flyball " + from + " makes of this project")
			return renderedBy(ctx, s.project, from)
		}
	}
	was, err := o.base(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("what Flyball %s makes of this project is not known: %w", from, err)
	}
	u := &Upgraded{From: from, To: src.Version}
	if u.To == "" {
		u.To = src.Dir
	}
	if mod, err = upgradeMod(mod, was["go.mod"], is["go.mod"], src); err != nil {
		return nil, err
	}
	if err := s.write("go.mod", mod); err != nil {
		return nil, err
	}
	for _, all := range []map[string][]byte{was, is} {
		delete(all, "go.mod")
		delete(all, ProjectFile)
	}
	for name, data := range was {
		was[name] = moveImports(name, data)
	}
	for name, data := range s.before {
		if out := moveImports(name, data); !bytes.Equal(out, data) {
			if err := s.write(name, out); err != nil {
				return nil, err
			}
		}
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if err := s.upgradeFile(ctx, u, name, was, is); err != nil {
			return nil, err
		}
	}
	if len(u.Conflicts) == 0 {
		if err := s.complete(ctx); err != nil {
			return nil, err
		}
	}
	if u.Changes, err = s.changes(); err != nil || !o.Write {
		return u, err
	}
	if err := s.put(u.Changes); err != nil {
		return nil, err
	}
	for _, c := range u.Changes {
		if c.After == nil {
			s.removed([]string{c.Name})
		}
	}
	return u, nil
}

// madeBy returns what made a project with this go.mod. given takes precedence.
func madeBy(mod []byte, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	f, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		return "", err
	}
	for _, r := range f.Replace {
		if r.Old.Path == flyballModule {
			return "", fmt.Errorf("go.mod has Flyball from %s (replace), and not the version that made the project: name that, or a checkout of it, by --from", r.New.Path)
		}
	}
	if v := Required(f, flyballModule); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("go.mod does not require %s: name the version that made the project by --from", flyballModule)
}

// upgradeFile merges the changes from was to is into a file of the project.
func (s *step) upgradeFile(ctx context.Context, u *Upgraded, name string, was, is map[string][]byte) error {
	base, based := was[name]
	next, wanted := is[name]
	own, there := s.had(name)
	own = moveImports(name, own)
	note := func(format string) { u.Notes = append(u.Notes, name+": "+format) }
	switch {
	case there && wanted && ownedByFlyball(own):
		return s.write(name, next)
	case based == wanted && bytes.Equal(base, next), there && wanted && bytes.Equal(own, next):
		return nil
	case !based && !there:
		return s.write(name, next)
	case !based:
		note("the new version makes this file, too; yours stays")
		return nil
	case !there:
		if wanted {
			note("you have removed it; it stays so, although the new version makes it otherwise")
		}
		return nil
	case !wanted && bytes.Equal(own, base):
		return s.remove(name)
	case !wanted:
		note("the new version does not make it any more; yours differs from what was made, and stays")
		return nil
	case bytes.Equal(own, base):
		return s.write(name, next)
	}
	merged, conflict, err := merge(ctx, own, base, next, u.From, u.To)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if conflict {
		u.Conflicts = append(u.Conflicts, name)
	}
	return s.write(name, merged)
}

// ownedByFlyball reports whether the first line of a file has the mark of those that flyball maintains.
func ownedByFlyball(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return bytes.Contains(first, []byte(ownedMark))
}

// merge applies the changes from base to next to own, as git does. If some of them meet other changes of the same lines,
// it reports a conflict, and the text has markers.
func merge(ctx context.Context, own, base, next []byte, from, to string) (merged []byte, conflict bool, err error) {
	dir, err := os.MkdirTemp("", "flyball-merge-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	for name, data := range map[string][]byte{"own": own, "base": base, "next": next} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, false, err
		}
	}
	cmd := exec.CommandContext(ctx, "git", "merge-file", "-p", "-q", "--diff3", "-L", "this project", "-L", "Flyball "+from, "-L", "Flyball "+to, "own", "base", "next")
	cmd.Dir = dir
	merged, err = cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() <= 127 { // the number of conflicts
		return merged, true, nil
	}
	return merged, false, err
}

// upgradeMod returns the go.mod of a project with Flyball from src. was and is are those of new projects of both
// versions.
func upgradeMod(mod, was, is []byte, src *Source) ([]byte, error) {
	var files [3]*modfile.File
	for i, data := range [][]byte{mod, was, is} {
		f, err := modfile.Parse("go.mod", data, nil)
		if err != nil {
			return nil, err
		}
		files[i] = f
	}
	own, base, next := files[0], files[1], files[2]
	for _, r := range slices.Clone(own.Replace) {
		if r.Old.Path == flyballModule || strings.HasPrefix(r.Old.Path, flyballModule+"/") {
			if err := own.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range slices.Clone(own.Require) {
		var err error
		if r.Mod.Path == flyballModule {
			err = src.Require(own, "")
		} else if sub, ok := strings.CutPrefix(r.Mod.Path, flyballModule+"/"); ok {
			err = src.Require(own, sub)
		} else if v := Required(next, r.Mod.Path); v != "" && r.Mod.Version == Required(base, r.Mod.Path) {
			err = own.AddRequire(r.Mod.Path, v)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := LiftGo(own, GoVersion(next)); err != nil {
		return nil, err
	}
	own.Cleanup()
	return own.Format()
}

// Render writes the files that this version makes of a project, but those about one kind, to a folder that is made or
// empty. go.mod is that of a new project.
func Render(ctx context.Context, o Options, to string) error {
	root, p, err := Open(o.Dir)
	if err != nil {
		return err
	}
	if err := empty(to); err != nil {
		return err
	}
	src, err := FindSource(o.FlyballDir, root)
	if err != nil {
		return err
	}
	files, err := rendered(ctx, p, src)
	if err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// rendered returns the files of Render by name.
func rendered(ctx context.Context, p *Project, src *Source) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", copyPrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	st, err := newStage(dir)
	if err != nil {
		return nil, err
	}
	defer st.drop()
	s := &step{stage: st}
	mod, goVersion, err := src.newGoMod(ctx, p.Module)
	if err != nil {
		return nil, err
	}
	if err := s.add("go.mod", mod); err != nil {
		return nil, err
	}
	if err := s.makeProject(p, scene{Project: p, Checkout: src.Version == "", Go: goVersion}); err != nil {
		return nil, err
	}
	files, _, err := readTree(st.dir)
	return files, err
}

// renderedBy returns what another version of this program renders. from is a version, or the folder of a checkout.
func renderedBy(ctx context.Context, project, from string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "flyball-base-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tool, in, work := toolModule+"@"+from, os.TempDir(), "GOWORK=off"
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		tool, in, work = "./cmd/flyball", from, "GOWORK="
	}
	args := []string{"run", tool, "render", "--dir", project, "--out", dir}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), work, "PWD="+in)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	files, _, err := readTree(dir)
	return files, err
}
