package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

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
	if !o.DryRun && !o.Undo {
		if err := t.run(ctx, "before"); err != nil {
			return nil, err
		}
	}
	keepCore := false
	if o.Undo {
		if keepCore, err = p.usesCore(); err != nil {
			return nil, err
		}
	}
	if err := change(ctx, &o, st, p, a, changed, keepCore, r); err != nil {
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

// change makes the change in the copy.
func change(ctx context.Context, o *Options, st *scaffold.Stage, p *Project, a *adapter, text []byte, keepCore bool, r *Result) error {
	untidy, err := o.output(ctx, st.Dir(), "go", "mod", "tidy", "-diff")
	if ctx.Err() != nil {
		return err
	}
	if a != nil && err != nil && len(untidy) == 0 { // no difference was found: it failed
		return &FailedError{When: "before", Step: "go mod tidy", Err: err}
	}
	tidy := err == nil
	if err := st.Write(p.Main, text); err != nil {
		return err
	}
	mod := filepath.Join(st.Dir(), "go.mod")
	data, err := os.ReadFile(mod)
	if err != nil {
		return err
	}
	if a != nil {
		data, err = a.add(data)
	} else {
		data, err = dropAdapter(data, keepCore)
	}
	if err == nil {
		err = st.Write("go.mod", data)
	}
	if err != nil {
		return err
	}
	if err := o.step(ctx, "go mod tidy", st.Dir(), nil, "go", "mod", "tidy"); err != nil {
		return err
	}
	if a != nil {
		if !tidy {
			r.Notes = append(r.Notes, `go.mod was not tidy before: the change of it has what "go mod tidy" does anyway`)
		}
		now, err := os.ReadFile(mod)
		if err != nil {
			return err
		}
		lifted, err := lifts(p.Mod, now)
		if err != nil {
			return err
		}
		r.Notes = append(r.Notes, lifted...)
	}
	if _, err := os.Stat(filepath.Join(st.Dir(), "vendor", "modules.txt")); err == nil {
		return o.step(ctx, "go mod vendor", st.Dir(), nil, "go", "mod", "vendor")
	}
	return nil
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
		_, _ = out.Write(diff.Diff("a/"+c.Name, c.Before, "b/"+c.Name, c.After))
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
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(causes(string(exit.Stderr))))
	}
	return out, err
}
