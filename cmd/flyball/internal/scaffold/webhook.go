package scaffold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NewWebhook configures the new webhooks of an API.
type NewWebhook struct {
	Group, Version, Kind               string
	Defaulting, Validation, Conversion bool
	// Spokes are versions of the kind to make along with the conversion webhook.
	Spokes []string
	// External says where a kind comes from that others define.
	External NewExternal
}

// ErrNoWebhook says that the flags of a command exclude every webhook.
var ErrNoWebhook = errors.New("nothing is to be made: give --defaulting, --validation or --conversion")

// Check rejects invalid names, independently of the project.
func (n *NewWebhook) Check() error {
	if !n.Defaulting && !n.Validation && !n.Conversion {
		return ErrNoWebhook
	}
	if n.Conversion && n.External != (NewExternal{}) {
		return errors.New("--conversion is for kinds of the project, whose versions it knows")
	}
	if len(n.Spokes) > 0 && !n.Conversion {
		return errors.New("--spoke is for --conversion")
	}
	for i, v := range n.Spokes {
		switch {
		case slices.Contains(n.Spokes[:i], v):
			return fmt.Errorf("--spoke %s: is given twice", v)
		case v == n.Version:
			return fmt.Errorf("--spoke %s: is the hub", v)
		}
		if err := checkVersion(v); err != nil {
			return fmt.Errorf("--spoke: %w", err)
		}
	}
	return n.External.checkNames(n.Group, n.Version, n.Kind)
}

// CreateWebhook adds webhooks to an API of the project.
func CreateWebhook(ctx context.Context, o Options, n NewWebhook) (*Result, error) {
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
	if a == nil {
		if a, err = n.External.external(n.Group, n.Version, n.Kind, "", nil); err == nil && a != nil {
			a, err = s.adopt(ctx, p, a, n.External)
		}
		if err != nil {
			return nil, err
		}
	}
	if a != nil && a.External != nil && n.Conversion {
		return nil, fmt.Errorf("--conversion: %s in %s is a kind that others define, and convert", n.Kind, n.Group)
	}
	if a == nil || a.find(n.Version) == nil {
		return nil, &NoAPIError{n.Group, n.Version, n.Kind}
	}
	v := a.find(n.Version)
	if err := s.admission(p, a, v, n); err != nil {
		return nil, err
	}
	if n.Conversion {
		if err := s.converting(p, a, n); err != nil {
			return nil, err
		}
	}
	if err := s.keep(p); err != nil {
		return nil, err
	}
	return s.finish(ctx)
}

// admission makes the admission webhooks.
func (s *step) admission(p *Project, a *API, v *Version, n NewWebhook) error {
	if !n.Defaulting && !n.Validation {
		return nil
	}
	for _, b := range a.Versions {
		if b.Name != v.Name && (b.Defaulting || b.Validation) {
			return fmt.Errorf("the webhooks of %s are those of its version %s, to which the API server converts what it gets in other versions", a.Kind, b.Name)
		}
	}
	if n.Defaulting && v.Defaulting {
		return &APIExistsError{n.Group, n.Version, n.Kind, "the defaulting webhook"}
	}
	if n.Validation && v.Validation {
		return &APIExistsError{n.Group, n.Version, n.Kind, "the validation webhook"}
	}
	v.Defaulting, v.Validation = v.Defaulting || n.Defaulting, v.Validation || n.Validation
	sc := scene{Project: p, API: a, Version: v}
	var err error
	for _, f := range p.admissionFiles(a, v.Name, n.Defaulting, n.Validation) {
		err = errors.Join(err, s.create(f.name, f.template, sc))
	}
	return err
}

// admissionFiles returns the files of a kind's admission webhooks.
func (p *Project) admissionFiles(a *API, version string, defaulting, validation bool) (out []madeFile) {
	stem, from := strings.TrimSuffix(apiFile(a, version, ""), "_"), "api/"
	if a.External != nil {
		stem, from = "internal/webhook/"+strings.ToLower(p.ControllerName(a)), "external/"
	}
	for _, x := range []struct {
		what string
		made bool
	}{{"defaulting", defaulting}, {"validation", validation}} {
		if x.made {
			out = append(out, madeFile{stem + "_" + x.what + ".go", from + x.what + ".go"}, madeFile{stem + "_" + x.what + "_test.go", from + x.what + "_test.go"})
		}
	}
	return out
}

// converting makes the conversion webhook of a kind, between all its versions.
func (s *step) converting(p *Project, a *API, n NewWebhook) error {
	if a.Conversion {
		return &APIExistsError{n.Group, n.Version, n.Kind, "the conversion webhook"}
	}
	if n.Version != a.Hub {
		return fmt.Errorf("--version %s: %s is converted through its hub, the version that is stored, which is %s", n.Version, a.Kind, a.Hub)
	}
	a.Conversion = true
	from := typesFile(a, a.Hub)
	text, ok := s.had(from)
	if !ok {
		return fmt.Errorf("%s is not there: the conversion is made from it", from)
	}
	types, err := parseTypes(from, text)
	if err != nil {
		return err
	}
	for _, v := range a.Versions {
		if v.Name != a.Hub {
			if err := s.conversion(scene{Project: p, API: a, Version: &v}, types); err != nil {
				return err
			}
		}
	}
	for _, v := range n.Spokes {
		if a.find(v) == nil {
			a.Versions = append(a.Versions, Version{Name: v})
			if err := s.newVersion(p, a, v); err != nil {
				return err
			}
		}
	}
	if len(a.Versions) == 1 {
		s.notes = append(s.notes, fmt.Sprintf("%s is the hub of %s. There is nothing to convert yet: the next \"flyball create api\" with another version of %s makes the conversion too.", a.Hub, a.Kind, a.Kind))
	}
	return nil
}
