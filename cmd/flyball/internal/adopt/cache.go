package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
)

// Options configures [Cache].
type Options struct {
	// Dir is a folder in the project.
	Dir string
	// Main is the file that makes the manager. See [Load].
	Main string
	// Version is the version of the adapter, and FlyballDir a checkout. If both are empty, see [scaffold.FindSource].
	Version    string
	FlyballDir string
	// Undo removes what an earlier call added.
	Undo bool
	// DryRun shows the change and writes nothing. Nothing is built or tested.
	DryRun bool
	// SkipTests builds, and runs no tests.
	SkipTests bool
	// ControlPlane runs the tests on a control plane of Flyball's own, one before and one after.
	ControlPlane bool
	// Force goes on where Git has changes that are not committed.
	Force bool
	// Diff receives the change.
	Diff io.Writer
	// Progress receives a line for each step that takes long, and its end.
	Progress io.Writer
}

// Result is what [Cache] did.
type Result struct {
	// Files are the changed files, by name. Of a dry run they are those that would change.
	Files []string
	// Lifts are the versions in go.mod that rise.
	Lifts []Lift
	// Notes tell the user what to know or do.
	Notes []string
}

// DirtyError says that Git has changes in the project that are not committed. Nothing was changed.
type DirtyError struct {
	// Files are some of them.
	Files []string
}

func (e *DirtyError) Error() string {
	return fmt.Sprintf("Git has changes here that are not committed: %s: commit or stash them, so that the change stands alone and \"git checkout\" takes it back; --force goes on all the same", strings.Join(e.Files, ", "))
}

// Cache gives the manager of an operator the packed cache: it sets NewCache, and adds the module to
// go.mod. The project is built and tested as it is and with the change, both in a copy. The project
// changes only if all that passed before passes with the change.
func Cache(ctx context.Context, o Options) (*Result, error) {
	p, err := Load(o.Dir, o.Main)
	if err != nil {
		return nil, err
	}
	text, err := p.mainText()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(p.Dir, filepath.FromSlash(p.Main))
	var changed []byte
	var a *adapter
	if o.Undo {
		changed, err = removeCache(file, text)
	} else {
		var taken map[string]bool
		if taken, err = p.taken(); err != nil {
			return nil, err
		}
		if changed, err = addCache(file, text, func(name string) bool { return taken[name] }); err != nil {
			return nil, err
		}
		if err := p.newInformers(); err != nil {
			return nil, err
		}
		if a, err = findAdapter(ctx, &o, p.Dir); err == nil {
			err = a.check(filepath.Join(p.Dir, "go.mod"), p.Mod)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := o.clean(ctx, p.Dir); err != nil {
		return nil, err
	}
	r := &Result{}
	t, when := &trial{o: &o, vetFails: o.Undo}, "after" // what is undone only has to build
	if o.Undo {
		when = "undone"
	}
	if !o.DryRun && !o.SkipTests && !o.Undo {
		if err := t.plan(p, r); err != nil {
			return nil, err
		}
	}
	st, err := scaffold.NewStage(p.Dir)
	if err != nil {
		return nil, err
	}
	defer st.Drop()
	t.dir = st.Dir()
	if o.Undo {
		err = undo(ctx, &o, st, p, changed)
	} else {
		err = adopt(ctx, &o, st, p, a, changed, t, r)
	}
	if err != nil {
		return nil, err
	}
	all, err := changes(st, p)
	if err != nil {
		return nil, err
	}
	show(o.Diff, all, r)
	if o.DryRun {
		return r, nil
	}
	if err := t.run(ctx, when); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r, st.Commit(all)
}

// adopt makes the change in the copy. What it raises in go.mod is said first. Then the copy is tried as it was, and with
// the raised libraries alone.
func adopt(ctx context.Context, o *Options, st *scaffold.Stage, p *Project, a *adapter, text []byte, t *trial, r *Result) error {
	was, err := modFiles(st.Dir())
	if err != nil {
		return err
	}
	own, err := p.mainText()
	if err != nil {
		return err
	}
	if err := a.require(ctx, o, st, p, text, r); err != nil {
		return err
	}
	is, err := modFiles(st.Dir())
	if err != nil {
		return err
	}
	if r.Lifts, err = lifts(p.Mod, is["go.mod"]); err != nil {
		return err
	}
	if !o.DryRun {
		for _, l := range r.Lifts {
			fmt.Fprintln(o.Progress, "raises", l)
		}
		if err := errors.Join(was.write(st.Dir()), st.Write(p.Main, own)); err != nil {
			return err
		}
		if err := t.run(ctx, "before"); err != nil {
			return err
		}
		if err := is.write(st.Dir()); err != nil {
			return err
		}
		if libraries(r.Lifts) {
			if err := t.raised(ctx, r.Lifts); err != nil {
				return err
			}
		}
		if err := st.Write(p.Main, text); err != nil {
			return err
		}
	}
	return o.vendor(ctx, st)
}

// require has the go.mod of the copy require the adapter, with the main file that uses it.
func (a *adapter) require(ctx context.Context, o *Options, st *scaffold.Stage, p *Project, text []byte, r *Result) error {
	untidy := false
	bad := o.watched(ctx, "go mod tidy -diff", st.Dir(), nil, func(line []byte) { untidy = untidy || len(line) > 0 }, nil, "go", "mod", "tidy", "-diff")
	if ctx.Err() != nil {
		return bad
	}
	failed := bad != nil && !untidy // no difference was found
	if err := st.Write(p.Main, text); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(st.Dir(), "go.mod"))
	if err == nil {
		data, err = a.add(data)
	}
	if err == nil {
		err = st.Write("go.mod", data)
	}
	if err != nil {
		return err
	}
	if failed { // the packages of the program may be there all the same
		const resolve = "go list -mod=mod"
		err := o.step(ctx, resolve, st.Dir(), nil, "go", "list", "-mod=mod", "-deps", "-test", "./...")
		f, ok := errors.AsType[*FailedError](bad)
		if !ok || ctx.Err() != nil {
			return errors.Join(bad, err)
		}
		if err != nil {
			f.When, f.Step = "before", "go mod tidy"
			return f
		}
		r.Notes = append(r.Notes, "go.mod has what its packages import, and is not tidy. go mod tidy fails already, without any change: "+f.cause())
		return nil
	}
	if bad != nil {
		r.Notes = append(r.Notes, `go.mod was not tidy before: the change of it has what "go mod tidy" does anyway`)
	}
	err = o.step(ctx, "go mod tidy", st.Dir(), nil, "go", "mod", "tidy")
	if f, ok := errors.AsType[*FailedError](err); ok {
		f.Step = "go mod tidy"
	}
	return err
}

// undo takes the change back in the copy.
func undo(ctx context.Context, o *Options, st *scaffold.Stage, p *Project, text []byte) error {
	keepCore, err := p.usesCore()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(st.Dir(), "go.mod"))
	if err == nil {
		data, err = dropAdapter(data, keepCore)
	}
	if err == nil {
		err = errors.Join(st.Write(p.Main, text), st.Write("go.mod", data))
	}
	if err == nil {
		err = o.step(ctx, "go mod tidy", st.Dir(), nil, "go", "mod", "tidy")
	}
	if err != nil {
		return err
	}
	return o.vendor(ctx, st)
}

// vendor brings the folder vendor up to date, if there is one.
func (o *Options) vendor(ctx context.Context, st *scaffold.Stage) error {
	if _, err := os.Stat(filepath.Join(st.Dir(), "vendor", "modules.txt")); err != nil {
		return nil
	}
	return o.step(ctx, "go mod vendor", st.Dir(), nil, "go", "mod", "vendor")
}

// modules are go.mod and go.sum of a copy. Nil means that there is no such file.
type modules map[string][]byte

// modFiles reads them.
func modFiles(dir string) (modules, error) {
	m := modules{}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		m[name] = data
	}
	return m, nil
}

// write brings them back.
func (m modules) write(dir string) (err error) {
	for name, data := range m {
		file := filepath.Join(dir, name)
		if data == nil {
			err = errors.Join(err, os.RemoveAll(file))
		} else {
			err = errors.Join(err, os.WriteFile(file, data, 0o666))
		}
	}
	return err
}

// changes returns what the change consists of. Other files that tests or tools made in the copy stay
// there.
func changes(st *scaffold.Stage, p *Project) ([]scaffold.Change, error) {
	all, err := st.Changes()
	var out []scaffold.Change
	for _, c := range all {
		if c.Name == p.Main || c.Name == "go.mod" || c.Name == "go.sum" || strings.HasPrefix(c.Name, "vendor/") {
			out = append(out, c)
		}
	}
	return out, err
}

// show prints the differences. Checksums and vendored files are only counted.
func show(out io.Writer, all []scaffold.Change, r *Result) {
	vendored := 0
	for _, c := range all {
		if strings.HasPrefix(c.Name, "vendor/") {
			vendored++
			continue
		}
		r.Files = append(r.Files, c.Name)
		if c.Name == "go.sum" {
			fmt.Fprintf(out, "go.sum: %d lines, before %d\n", strings.Count(string(c.After), "\n"), strings.Count(string(c.Before), "\n"))
			continue
		}
		_, _ = out.Write(c.Diff())
	}
	if vendored > 0 {
		fmt.Fprintf(out, "vendor: %d files\n", vendored)
		r.Files = append(r.Files, fmt.Sprintf("%d files in vendor", vendored))
	}
}

// clean returns a *DirtyError if Git has changes in the project. Without Git there is nothing to say.
func (o *Options) clean(ctx context.Context, dir string) error {
	if o.Force || o.DryRun {
		return nil
	}
	out, err := o.output(ctx, dir, "git", "status", "--porcelain", "--untracked-files=no", "--", ".")
	if err != nil {
		return context.Cause(ctx) // no Git, or no repository
	}
	e := &DirtyError{}
	for line := range strings.Lines(string(out)) {
		if len(e.Files) == 5 {
			e.Files = append(e.Files, "and more")
			break
		}
		if line = strings.TrimRight(line, "\n"); len(line) > 3 {
			e.Files = append(e.Files, line[3:])
		}
	}
	if len(e.Files) > 0 {
		return e
	}
	return nil
}

// usesCore reports whether another file than main uses Flyball.
func (p *Project) usesCore() (bool, error) {
	files, err := p.imports(func(file, path string) bool {
		return path == corePath || strings.HasPrefix(path, corePath+"/") && (file != p.Main || path != cachePath)
	})
	return len(files) > 0, err
}

// environment is that of all commands: outside of any workspace, as the copy is.
func environment(dir string, more ...string) []string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return append(append(os.Environ(), "GOWORK=off", "PWD="+dir), more...)
}

// output runs a command and returns its standard output.
func (o *Options) output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, environment(dir)
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = &FailedError{Step: name + " " + strings.Join(args, " "), Output: causes(string(exit.Stderr)), Err: err}
	}
	return out, err
}
