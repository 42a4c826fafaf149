package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Removal names what is to be removed from a project.
type Removal struct {
	Group, Version, Kind string
	// Defaulting, Validation and Conversion select webhooks. DeleteAPI does not read them.
	Defaulting, Validation, Conversion bool
	// Yes removes files that were edited since they were made.
	Yes bool
}

// EditedError says that files that would be removed are not as they were made.
type EditedError struct{ Files []string }

func (e *EditedError) Error() string {
	return fmt.Sprintf("edited since they were made: %s; --yes removes them all the same", strings.Join(e.Files, ", "))
}

// CheckNames rejects invalid names, independently of the project.
func (r *Removal) CheckNames() error {
	return errors.Join(checkAnyGroup(r.Group), checkVersion(r.Version), checkKind(r.Kind))
}

// CheckWebhooks rejects what CheckNames does, and a selection of nothing.
func (r *Removal) CheckWebhooks() error {
	if !r.Defaulting && !r.Validation && !r.Conversion {
		return ErrNoSelection
	}
	return r.CheckNames()
}

// ErrNoSelection says that the flags of a command select nothing to be deleted.
var ErrNoSelection = errors.New("nothing is to be deleted: give --defaulting, --validation or --conversion")

// removing is a removal in progress.
type removing struct {
	*step
	yes    bool
	edited []string
}

// beginRemoval starts a removal, and finds its API.
func beginRemoval(o Options, r Removal) (s *removing, p *Project, a *API, err error) {
	st, old, err := begin(o)
	if err != nil {
		return nil, nil, nil, err
	}
	p = old.clone()
	if a = p.find(r.Group, r.Kind); a == nil {
		a = p.find(shortGroup(r.Group), r.Kind)
	}
	if a == nil || a.find(r.Version) == nil {
		st.drop()
		return nil, nil, nil, &NoAPIError{r.Group, r.Version, r.Kind}
	}
	return &removing{step: st, yes: r.Yes}, p, a, nil
}

// end writes the files that follow from PROJECT, and commits.
func (s *removing) end(ctx context.Context, p *Project) (*Result, error) {
	if len(s.edited) > 0 && !s.yes {
		return nil, &EditedError{Files: s.edited}
	}
	if err := s.keep(p); err != nil {
		return nil, err
	}
	r, err := s.finish(ctx)
	if err != nil {
		return nil, fmt.Errorf("without it the rest of the project cannot be made: %w", err)
	}
	return r, nil
}

// unmake removes a file that create made. One that is not there is left alone.
func (s *removing) unmake(f madeFile, sc scene) error {
	made, err := render(f.template, sc)
	if err != nil {
		return err
	}
	return s.removeMade(f.name, made)
}

// removeMade removes a file that a step made with this content. One that is not there is left
// alone.
func (s *removing) removeMade(name string, made []byte) error {
	old, ok := s.had(name)
	if !ok {
		return nil
	}
	if !bytes.Equal(conversionLine.ReplaceAll(old, nil), made) {
		s.edited = append(s.edited, name)
	}
	return s.remove(name)
}

// removeTypes removes the Go types of one version. Those of all versions but the hub were made as a
// copy of it.
func (s *removing) removeTypes(sc scene) error {
	name := typesFile(sc.API, sc.Version.Name)
	if sc.Version.Name == sc.API.Hub {
		return s.unmake(madeFile{name, "api/types.go"}, sc)
	}
	var made []byte
	hub := typesFile(sc.API, sc.API.Hub)
	if text, ok := s.had(hub); ok {
		if t, err := parseTypes(hub, text); err == nil {
			made, _ = t.copyTo(sc.Version.Name)
		}
	}
	return s.removeMade(name, made)
}

// DeleteAPI removes a version of a kind from the project. With the last version it removes the
// kind, its controller and its webhooks. The rest of the project must build without it.
func DeleteAPI(ctx context.Context, o Options, r Removal) (*Result, error) {
	if err := r.CheckNames(); err != nil {
		return nil, err
	}
	s, p, a, err := beginRemoval(o, r)
	if err != nil {
		return nil, err
	}
	defer s.drop()
	if len(a.Versions) > 1 && r.Version == a.Hub {
		return nil, fmt.Errorf("--version %s: is the hub of %s, the version that is stored: \"flyball edit api --group %s --kind %s --hub VERSION\" makes another one the hub", r.Version, r.Kind, r.Group, r.Kind)
	}
	v := a.find(r.Version)
	sc := scene{Project: p, API: a, Version: v}
	files := p.admissionFiles(a, v.Name, v.Defaulting, v.Validation)
	if a.External == nil {
		files = append(files, madeFile{sampleFile(a, v.Name), "api/sample.yaml"})
		if err := s.removeTypes(sc); err != nil {
			return nil, err
		}
	}
	last := len(a.Versions) == 1
	if a.Controller && last {
		files = append(files, p.controllerFiles(a)...)
	}
	for _, f := range files {
		if err := s.unmake(f, sc); err != nil {
			return nil, err
		}
	}
	if err := s.unconvert(sc); err != nil {
		return nil, err
	}
	group := a.Group
	if last {
		p.drop(a.Group, a.Kind)
	} else {
		a.Versions = slices.DeleteFunc(a.Versions, func(b Version) bool { return b.Name == r.Version })
	}
	if err := s.removePackage(p, group, r.Version); err != nil {
		return nil, err
	}
	return s.end(ctx, p)
}

// drop removes a kind. The names of the others stay.
func (p *Project) drop(group, kind string) {
	p.keepNames()
	p.APIs = slices.DeleteFunc(p.APIs, func(b API) bool { return b.Group == group && b.Kind == kind })
}

// keepNames fixes the names of controllers that depend on the other kinds of the project.
func (p *Project) keepNames() {
	for i := range p.APIs {
		if name := p.ControllerName(&p.APIs[i]); name != p.APIs[i].Kind {
			p.APIs[i].Name = name
		}
	}
}

// removePackage removes the generated files of an API package that has no kinds any more.
func (s *removing) removePackage(p *Project, group, version string) error {
	if slices.ContainsFunc(p.Packages(), func(x Package) bool { return x.Group == group && x.Version == version }) {
		return nil
	}
	for _, file := range []string{"register.go", "zz_generated.deepcopy.go"} {
		name := path.Join("api", group, version, file)
		if bytes.Contains(s.before[name], []byte("Code generated by flyball")) {
			if err := s.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// unconvert removes the conversion of one version, and the marker when there is nothing to convert
// any more.
func (s *removing) unconvert(sc scene) error {
	a, v := sc.API, sc.Version
	if !a.Conversion || v.Name == a.Hub {
		return nil
	}
	var made []byte
	hub := typesFile(a, a.Hub)
	if text, ok := s.had(hub); ok {
		if t, err := parseTypes(hub, text); err == nil {
			made, _ = t.convert(sc)
		}
	}
	if err := errors.Join(
		s.removeMade(apiFile(a, v.Name, "conversion.go"), made),
		s.unmake(madeFile{apiFile(a, v.Name, "conversion_test.go"), "api/conversion_test.go"}, sc),
	); err != nil || len(a.Versions) > 2 {
		return err
	}
	return s.unmark(a)
}

// unmark removes the marker for the conversion webhook at the hub.
func (s *removing) unmark(a *API) error {
	file := typesFile(a, a.Hub)
	text, ok := s.had(file)
	if !ok {
		return nil
	}
	return s.write(file, conversionLine.ReplaceAll(text, nil))
}

// DeleteWebhook removes webhooks of a kind from the project.
func DeleteWebhook(ctx context.Context, o Options, r Removal) (*Result, error) {
	if err := r.CheckWebhooks(); err != nil {
		return nil, err
	}
	s, p, a, err := beginRemoval(o, r)
	if err != nil {
		return nil, err
	}
	defer s.drop()
	v := a.find(r.Version)
	for _, x := range []struct {
		what        string
		wanted, has bool
	}{{"defaulting", r.Defaulting, v.Defaulting}, {"validation", r.Validation, v.Validation}, {"conversion", r.Conversion, a.Conversion}} {
		if x.wanted && !x.has {
			return nil, fmt.Errorf("--%s: the project has no such webhook of %s in %s/%s", x.what, r.Kind, r.Group, r.Version)
		}
	}
	if r.Conversion && r.Version != a.Hub {
		return nil, fmt.Errorf("--version %s: %s is converted through its hub, which is %s; its webhook is that of all versions", r.Version, r.Kind, a.Hub)
	}
	sc := scene{Project: p, API: a, Version: v}
	for _, f := range p.admissionFiles(a, v.Name, r.Defaulting, r.Validation) {
		if err := s.unmake(f, sc); err != nil {
			return nil, err
		}
	}
	v.Defaulting, v.Validation = v.Defaulting && !r.Defaulting, v.Validation && !r.Validation
	if r.Conversion {
		for i := range a.Versions {
			if err := s.unconvert(scene{Project: p, API: a, Version: &a.Versions[i]}); err != nil {
				return nil, err
			}
		}
		if err := s.unmark(a); err != nil {
			return nil, err
		}
		a.Conversion = false
	}
	if a.External != nil && !a.Controller && !v.Defaulting && !v.Validation {
		p.drop(a.Group, a.Kind)
	}
	return s.end(ctx, p)
}
