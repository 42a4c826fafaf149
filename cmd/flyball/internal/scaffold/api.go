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
	return fmt.Sprintf("the project has no %s in %s: the controller of a kind that others define is written by hand, and added in cmd/main.go after setup.Add", e.Kind, e.Group)
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
	err := errors.Join(checkGroup(n.Group, ""), checkVersion(n.Version), checkKind(n.Kind))
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
	n.complete(a)
	switch {
	case !n.Resource && a == nil:
		return nil, &NoKindError{n.Group, n.Kind}
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
	name := fmt.Sprintf("config/samples/%s_%s_%s.yaml", sc.API.Group, sc.Version.Name, strings.ToLower(sc.API.Kind))
	return s.create(name, "api/sample.yaml", sc)
}

func (s *step) controller(p *Project, a *API, version string) error {
	sc := scene{Project: p, API: a, Version: a.find(version)}
	stem := "internal/controller/" + strings.ToLower(p.ControllerName(a))
	return errors.Join(
		s.create(stem+"_controller.go", "api/controller.go", sc),
		s.create(stem+"_controller_test.go", "api/controller_test.go", sc),
	)
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
