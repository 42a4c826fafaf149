package rbac

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/client"
)

// Recorder collects what a client asks for:
//
//	rec := &rbac.Recorder{}
//	options.Client.Hook = rec.Hook
//
// A request counts whether it was answered or not, and also when it was forbidden. Discovery is not
// recorded, which everybody may. The zero value is ready; it may be used by any goroutine.
type Recorder struct {
	// Next is called with every request after it was recorded; nil: nobody. It must not change once
	// the Recorder is in use.
	Next func(client.Done)

	mu  sync.Mutex
	got map[Permission]struct{}
}

// Hook records a request: give it to client.Options.
func (r *Recorder) Hook(d client.Done) {
	if d.Resource.Resource != "" {
		r.add(d)
	}
	if r.Next != nil {
		r.Next(d)
	}
}

func (r *Recorder) add(d client.Done) {
	p := Permission{Verb: d.Verb, Group: d.Resource.Group, Resource: d.Resource.Resource}
	if d.Subresource != "" {
		p.Resource += "/" + d.Subresource
	}
	apply := d.Verb == string(client.VerbApply)
	if apply {
		p.Verb = "patch"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = map[Permission]struct{}{}
	}
	r.got[p] = struct{}{}
	if d.Code == 201 && apply { // the server asks for the right to create, too
		p.Verb = "create"
		r.got[p] = struct{}{}
	}
}

// Add adds rules to what was recorded, such as those of [Declared].
func (r *Recorder) Add(rules Rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = map[Permission]struct{}{}
	}
	for _, p := range rules.all {
		r.got[p] = struct{}{}
	}
}

// Rules are what was recorded up to now.
func (r *Recorder) Rules() Rules {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Of(slices.Collect(maps.Keys(r.got))...)
}

// Save writes what was recorded to a file, as JSON, in place of what is there. The file is there as
// a whole or not at all.
func (r *Recorder) Save(file string) error {
	data, err := json.MarshalIndent(r.Rules(), "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".rbac-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	return err
}

// Load reads the rules of files: what recorders saved, or roles (see [Parse]). Of a folder it reads
// all files that end in .json, .yaml or .yml, and there must be one. Errors name the file.
func Load(paths ...string) (Rules, error) {
	var all []Rules
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			files = nil
			entries, err := os.ReadDir(path)
			if err != nil {
				return Rules{}, err
			}
			for _, e := range entries {
				if ext := filepath.Ext(e.Name()); !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".json", ".yaml", ".yml"}, ext) {
					files = append(files, filepath.Join(path, e.Name()))
				}
			}
			if len(files) == 0 {
				return Rules{}, fmt.Errorf("%s: no .json or .yaml file is in it", path)
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return Rules{}, err
			}
			r, err := Parse(text)
			if err != nil {
				return Rules{}, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, r)
		}
	}
	return Union(all...), nil
}

// FolderVariable names the folder that [RecordTest] writes to.
const FolderVariable = "FLYBALL_RBAC"

// T is what [RecordTest] needs of a *testing.T.
type T interface {
	Helper()
	Name() string
	Cleanup(func())
	Errorf(format string, args ...any)
}

// RecordTest records what the client with these options asks for until the test ends, and saves it
// in the folder that FLYBALL_RBAC names, by an absolute path since each package tests in its own
// folder, in a file for this package and test; nothing is saved where FLYBALL_RBAC is empty. A Hook
// that the options have is called as before. What the returned Recorder is given more, such as
// [Declared] kinds, is saved too.
func RecordTest(t T, o *client.Options) *Recorder {
	t.Helper()
	r := &Recorder{Next: o.Hook}
	o.Hook = r.Hook
	folder := os.Getenv(FolderVariable)
	if folder == "" {
		return r
	}
	pkg, err := os.Getwd()
	if err != nil || !filepath.IsAbs(folder) {
		t.Errorf("%s is %q: it must be an absolute path (%v)", FolderVariable, folder, err)
		return r
	}
	name := filepath.Base(filepath.Dir(pkg)) + "-" + filepath.Base(pkg) + "-" + t.Name()
	file := filepath.Join(folder, noFileName.ReplaceAllString(name, "_")+".json")
	t.Cleanup(func() {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Errorf("%s: %v", FolderVariable, err)
		} else if err := r.Save(file); err != nil {
			t.Errorf("%s: %v", FolderVariable, err)
		}
	})
	return r
}

var noFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
