package rbac

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/client"
)

// Recorder collects what a client asks for:
//
//	rec := &rbac.Recorder{}
//	options.Client.Hook = rec.Hook
//
// A request counts whether it was answered or not, and also when it was forbidden. Discovery is not
// recorded, which everybody may, and no names of objects are. A watch that begins with all there is
// counts as a list, too: it stands for one, which follows where the server has no streaming lists.
// The zero value is ready; it may be used by any goroutine.
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
	if d.Initial {
		p.Verb = "list"
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
// folder, in a file for this package and test; nothing is saved where FLYBALL_RBAC is empty. What an
// earlier run saved there is removed; what the test records with other options goes to the same file.
// A Hook that the options have is called as before. What the returned Recorder is given more, such
// as [Declared] kinds, is saved too.
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
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", FolderVariable, err)
		return r
	}
	t.Cleanup(func() {
		others, err := Load(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", FolderVariable, err)
			return
		}
		r.Add(others)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Errorf("%s: %v", FolderVariable, err)
		} else if err := r.Save(file); err != nil {
			t.Errorf("%s: %v", FolderVariable, err)
		}
	})
	return r
}

var noFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
