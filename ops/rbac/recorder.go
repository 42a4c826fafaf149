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

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/flyball-io/flyball/client"
)

// Recorder records the permissions that a client's requests need:
//
//	rec := &rbac.Recorder{}
//	options.Client.Hook = rec.Hook
//
// Every request counts, also one without an answer or a forbidden one. Two things are not recorded:
// discovery, which everybody may use, and the names of objects. Only a definition that is read has its
// name: caches read those of their kinds. A watch with initial events also counts as a list, since the
// client lists on servers without streaming lists.
//
// The zero value is ready to use. It is safe for concurrent use.
type Recorder struct {
	// Next is called with every request after it was recorded. Nil means no call. It must not
	// change once the Recorder is in use.
	Next func(client.Done)

	mu  sync.Mutex
	got map[Permission]struct{}
}

// Hook records a request. It is a client.Options.Hook.
func (r *Recorder) Hook(d client.Done) {
	if d.Resource.Resource != "" {
		r.add(d)
	}
	if r.Next != nil {
		r.Next(d)
	}
}

// getDefinition is the permission to read all CustomResourceDefinitions.
var getDefinition = Permission{Verb: "get", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

func (r *Recorder) add(d client.Done) {
	p := Permission{Verb: d.Verb, Group: d.Resource.Group, Resource: d.Resource.Resource}
	if d.Subresource != "" {
		p.Resource += "/" + d.Subresource
	}
	if p == getDefinition {
		p.Name = d.Key.Name
	}
	apply := d.Verb == "apply"
	if apply {
		p.Verb = "patch"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = map[Permission]struct{}{}
	}
	r.got[p] = struct{}{}
	if d.Code == 201 && apply { // an apply that creates needs the permission to create, too
		p.Verb = "create"
		r.got[p] = struct{}{}
	}
	if d.Initial {
		p.Verb = "list"
		r.got[p] = struct{}{}
	}
}

// Add adds rules to the recorded ones, such as those of [Declared].
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

// Rules returns the rules recorded so far.
func (r *Recorder) Rules() Rules {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Of(slices.Collect(maps.Keys(r.got))...)
}

// save writes the recorded rules to a file as JSON that [Load] reads.
func (r *Recorder) save(file string) error {
	rules := []rbacv1.PolicyRule{}
	for _, p := range r.Rules().all {
		rules = append(rules, p.Rule())
	}
	data, err := json.MarshalIndent(map[string]any{"rules": rules}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// FolderVariable is the environment variable with the folder of [RecordTest].
const FolderVariable = "FLYBALL_RBAC"

// testingT is the part of *testing.T that [RecordTest] needs.
type testingT interface {
	Helper()
	Name() string
	Cleanup(func())
	Errorf(format string, args ...any)
}

// RecordTest records the requests of the client with these options until the test ends. It then
// saves the rules to a file for this package and test, in the folder that FLYBALL_RBAC names. The
// folder must be an absolute path, since each package tests in its own folder. If FLYBALL_RBAC is
// empty, nothing is saved.
//
// RecordTest removes the file of an earlier run. Several calls in one test share a file. A Hook in
// the options is still called. Rules added to the returned Recorder, such as [Declared] kinds, are
// saved too.
func RecordTest(t testingT, o *client.Options) *Recorder {
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
		} else if err := r.save(file); err != nil {
			t.Errorf("%s: %v", FolderVariable, err)
		}
	})
	return r
}

var noFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
