package scaffold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// NotEmptyError says that a folder for a new project is not empty.
type NotEmptyError struct {
	Dir string
	// Entries are some of the folder's entries.
	Entries []string
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is not empty: it has %s; a project is made in an empty folder", e.Dir, strings.Join(e.Entries, ", "))
}

// empty checks that dir has only hidden files. dir need not exist.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	e := &NotEmptyError{Dir: dir}
	for _, x := range entries {
		if strings.HasPrefix(x.Name(), ".") {
			continue
		}
		if len(e.Entries) == 3 {
			e.Entries = append(e.Entries, "and more")
			break
		}
		e.Entries = append(e.Entries, x.Name())
	}
	if len(e.Entries) > 0 {
		return e
	}
	return nil
}

// NewAPI configures a new API.
type NewAPI struct {
	Group, Version, Kind string
	// Plural is the name of the resource. Empty means the plural of the kind's other versions, or
	// else the English plural.
	Plural string
	// Namespaced says whether objects live in namespaces. Nil means the same as for the kind's
	// other versions, or else true.
	Namespaced *bool
	// Resource says whether to make the type, and Controller whether to make the controller.
	Resource, Controller bool
	// Chosen says that Resource is no default. A kind with the name of one of Kubernetes is made only
	// then.
	Chosen bool
	// External says where a kind comes from that others define.
	External NewExternal
}

// ErrNothing says that the flags of a command exclude everything.
var ErrNothing = errors.New("nothing is to be made: neither --resource nor --controller")

// NoAPIError says that the project does not have an API.
type NoAPIError struct{ Group, Version, Kind string }

func (e *NoAPIError) Error() string {
	return fmt.Sprintf("the project has no %s in %s/%s: \"flyball create api\" makes one", e.Kind, e.Group, e.Version)
}

// NoKindError says that the project does not have the kind to be controlled.
type NoKindError struct{ Group, Kind string }

func (e *NoKindError) Error() string {
	return fmt.Sprintf("the project has no %s in %s: for a kind that others define, give the package of its Go type by --external-api-path", e.Kind, e.Group)
}

// APIExistsError says that the project has an API already.
type APIExistsError struct{ Group, Version, Kind, What string }

func (e *APIExistsError) Error() string {
	return fmt.Sprintf("the project has %s of %s in %s/%s already", e.What, e.Kind, e.Group, e.Version)
}

// Check rejects invalid names, independently of the project.
func (n *NewAPI) Check() error {
	if !n.Resource && !n.Controller {
		return ErrNothing
	}
	if n.Resource && n.External != (NewExternal{}) {
		return errors.New("--external-api-path is for a kind that others define: give --resource=false")
	}
	var err error
	if n.Resource {
		err = errors.Join(checkGroup(n.Group, ""), checkVersion(n.Version), checkKind(n.Kind))
	} else {
		err = n.External.checkNames(n.Group, n.Version, n.Kind)
	}
	if n.Plural != "" {
		err = errors.Join(err, checkPlural(n.Plural))
	}
	return err
}

// CreateAPI adds a kind to the project, a version to a kind, or a controller.
func CreateAPI(ctx context.Context, o Options, n NewAPI) (*Result, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	s, old, err := begin(o)
	if err != nil {
		return nil, err
	}
	defer s.drop()
	p := old.clone()
	a := p.find(n.Group, n.Kind)
	if !n.Resource && a == nil {
		if a, err = n.External.external(n.Group, n.Version, n.Kind, n.Plural, n.Namespaced); err == nil && a != nil {
			a, err = s.adopt(ctx, p, a, n.External)
		}
		if err != nil {
			return nil, err
		}
	}
	if n.Resource && !n.Chosen && a == nil {
		if known, _ := builtin(n.Group, n.Version, n.Kind); known != nil {
			return nil, &BuiltinKindError{Kind: n.Kind, Group: n.Group, Version: n.Version, Own: p.FullGroup(n.Group)}
		}
	}
	n.complete(a)
	switch {
	case !n.Resource && a == nil:
		return nil, &NoKindError{n.Group, n.Kind}
	case n.Resource && a != nil && a.External != nil:
		return nil, fmt.Errorf("%s in %s is a kind that others define: a version of it cannot be made", n.Kind, n.Group)
	case !n.Resource && a.find(n.Version) == nil:
		return nil, &NoAPIError{n.Group, n.Version, n.Kind}
	case !n.Resource && a.Controller:
		return nil, &APIExistsError{n.Group, n.Version, n.Kind, "a controller"}
	case !n.Resource:
		a.Controller = true
		err = s.controller(p, a, n.Version)
	case a == nil:
		a = &API{Group: n.Group, Kind: n.Kind, Plural: n.Plural, Namespaced: *n.Namespaced, Controller: n.Controller, Hub: n.Version, Versions: []Version{{Name: n.Version}}}
		if err := p.checkAPI(a); err != nil {
			return nil, err
		}
		p.APIs = append(p.APIs, *a)
		err = s.newKind(p, p.find(n.Group, n.Kind))
	case a.find(n.Version) != nil:
		return nil, &APIExistsError{n.Group, n.Version, n.Kind, "the API"}
	default:
		if n.Plural != a.Plural || *n.Namespaced != a.Namespaced {
			return nil, fmt.Errorf("%s exists in %s with the plural %s and namespaced %t, which hold for all its versions", n.Kind, n.Group, a.Plural, a.Namespaced)
		}
		a.Versions = append(a.Versions, Version{Name: n.Version})
		err = s.newVersion(p, a, n.Version)
	}
	if err == nil {
		err = s.keep(p)
	}
	if err != nil {
		return nil, err
	}
	return s.finish(ctx)
}

// BuiltinKindError says that Kubernetes has a kind that is to be made.
type BuiltinKindError struct{ Group, Version, Kind, Own string }

func (e *BuiltinKindError) Error() string {
	return fmt.Sprintf("%s in %s/%s is a kind of Kubernetes: give --resource=false for a controller of it, or --resource to make a kind of your own with that name in %s", e.Kind, e.Group, e.Version, e.Own)
}

// adopt adds a kind that others define to the project, and its module to go.mod.
func (s *step) adopt(ctx context.Context, p *Project, a *API, n NewExternal) (*API, error) {
	if old := p.find(a.Group, a.Kind); old != nil { // the group has several names
		return old, nil
	}
	if err := p.checkAPI(a); err != nil {
		return nil, err
	}
	p.APIs = append(p.APIs, *a)
	if n.Module != "" {
		s.get = append(s.get, n.Module)
	}
	if !a.InScheme() {
		s.notes = append(s.notes, fmt.Sprintf("The tests of the project need the CRD of %s: save it in config/crd/external. It is not deployed: its own program brings it.", a.Kind))
	}
	return p.find(a.Group, a.Kind), nil
}

// complete fills in the defaults, for a kind that may exist.
func (n *NewAPI) complete(a *API) {
	if a == nil {
		a = &API{Plural: pluralOf(n.Kind), Namespaced: true}
	}
	if n.Plural == "" {
		n.Plural = a.Plural
	}
	if n.Namespaced == nil {
		n.Namespaced = &a.Namespaced
	}
}

// newKind makes a kind in its first version.
func (s *step) newKind(p *Project, a *API) error {
	v := &a.Versions[0]
	sc := scene{Project: p, API: a, Version: v}
	err := errors.Join(
		s.create(typesFile(a, v.Name), "api/types.go", sc),
		s.sample(sc),
	)
	if err == nil && a.Controller {
		err = s.controller(p, a, v.Name)
	}
	return err
}

func typesFile(a *API, version string) string { return apiFile(a, version, "types.go") }

// apiFile returns the file name of a kind in one version.
func apiFile(a *API, version, suffix string) string {
	return path.Join("api", a.Group, version, strings.ToLower(a.Kind)+"_"+suffix)
}

func (s *step) sample(sc scene) error {
	return s.create(sampleFile(sc.API, sc.Version.Name), "api/sample.yaml", sc)
}

func sampleFile(a *API, version string) string {
	return fmt.Sprintf("config/samples/%s_%s_%s.yaml", a.Group, version, strings.ToLower(a.Kind))
}

func (s *step) controller(p *Project, a *API, version string) error {
	sc := scene{Project: p, API: a, Version: a.find(version)}
	var all error
	for _, f := range p.controllerFiles(a) {
		all = errors.Join(all, s.create(f.name, f.template, sc))
	}
	return all
}

// madeFile is a file that is made once.
type madeFile struct{ name, template string }

// controllerFiles returns the files of a kind's controller.
func (p *Project) controllerFiles(a *API) []madeFile {
	stem, from := "internal/controller/"+strings.ToLower(p.ControllerName(a))+"_controller", "api/controller"
	if a.External != nil {
		from = "external/controller"
	}
	return []madeFile{{stem + ".go", from + ".go"}, {stem + "_test.go", from + "_test.go"}}
}

// newVersion makes another version of a kind as a copy of the hub.
func (s *step) newVersion(p *Project, a *API, version string) error {
	sc := scene{Project: p, API: a, Version: a.find(version)}
	from := typesFile(a, a.Hub)
	text, ok := s.had(from)
	if !ok {
		return fmt.Errorf("%s is not there: version %s is made as a copy of it", from, version)
	}
	types, err := parseTypes(from, text)
	if err != nil {
		return err
	}
	copied, err := types.copyTo(version)
	if err != nil {
		return err
	}
	if err := errors.Join(s.add(typesFile(a, version), copied), s.sample(sc)); err != nil {
		return err
	}
	if a.Conversion {
		return s.conversion(sc, types)
	}
	s.notes = append(s.notes, fmt.Sprintf("%s %s and %s have the same fields. Before they differ, make the webhook that converts: \"flyball create webhook --group %s --version %s --kind %s --conversion\".", a.Kind, a.Hub, version, a.Group, a.Hub, a.Kind))
	return nil
}
