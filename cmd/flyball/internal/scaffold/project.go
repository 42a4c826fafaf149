package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// ProjectFile is the name of the file at the root of a project that lists its parts.
const ProjectFile = "PROJECT"

// projectVersion is the version of that file's format.
const projectVersion = 1

// Project is the content of a project, as its file PROJECT says.
type Project struct {
	Version int `yaml:"version"`
	// Name is the name of the program, and the prefix of all its objects in a cluster.
	Name string `yaml:"name"`
	// Domain is the suffix of every API group.
	Domain string `yaml:"domain"`
	// Module is the path of the Go module.
	Module   string `yaml:"module"`
	Features `yaml:",inline"`
	// APIs are in the order of their creation.
	APIs []API `yaml:"apis,omitempty"`
}

// Features are the parts of a project that can be switched on and off.
type Features struct {
	// Namespaced has the program watch the namespace that it runs in, with Roles instead of
	// ClusterRoles.
	Namespaced bool `yaml:"namespaced,omitempty"`
	// CertManager has cert-manager make the certificate of the webhooks, not the program.
	CertManager bool `yaml:"certManager,omitempty"`
	// NetworkPolicy restricts who reaches the program.
	NetworkPolicy bool `yaml:"networkPolicy,omitempty"`
	// Prometheus adds a ServiceMonitor for the metrics.
	Prometheus bool `yaml:"prometheus,omitempty"`
	// GenerateEmbeddedObjectMeta and AllowDangerousTypes are options of the CRDs.
	GenerateEmbeddedObjectMeta bool `yaml:"generateEmbeddedObjectMeta,omitempty"`
	AllowDangerousTypes        bool `yaml:"allowDangerousTypes,omitempty"`
}

// API is one kind with all its versions.
type API struct {
	// Group is the group without the domain. For a kind that others define it is a short name.
	Group      string `yaml:"group"`
	Kind       string `yaml:"kind"`
	Plural     string `yaml:"plural"`
	Namespaced bool   `yaml:"namespaced"`
	// External is set for a kind that others define, which has one version here.
	External *External `yaml:"external,omitempty"`
	// Name is the kind's name in internal/controller and internal/webhook. Empty means what
	// ControllerName derives.
	Name string `yaml:"name,omitempty"`
	// Controller says whether the project has a controller for the kind.
	Controller bool `yaml:"controller,omitempty"`
	// Hub is the stored version. The others convert through it.
	Hub string `yaml:"hub"`
	// Conversion says whether a webhook converts between the versions.
	Conversion bool      `yaml:"conversion,omitempty"`
	Versions   []Version `yaml:"versions"`
}

// External says where the Go type of a kind that others define comes from.
type External struct {
	// Path is the import path of its package.
	Path string `yaml:"path"`
	// Group is the whole name of the API group. It is empty for the core group.
	Group string `yaml:"apiGroup,omitempty"`
}

// Version is one version of a kind.
type Version struct {
	Name       string `yaml:"name"`
	Defaulting bool   `yaml:"defaulting,omitempty"`
	Validation bool   `yaml:"validation,omitempty"`
}

// NoProjectError says that a folder is not in a project.
type NoProjectError struct{ Dir string }

func (e *NoProjectError) Error() string {
	return fmt.Sprintf("%s: no project here (there is no file %s, nor in a folder above): \"flyball init\" makes one", e.Dir, ProjectFile)
}

// Find returns the folder of the project that contains dir, which may be dir. The error is a
// *NoProjectError, or the reason why a file cannot be read.
func Find(dir string) (string, error) {
	root, err := FindFile(dir, ProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = &NoProjectError{Dir: dir}
	}
	return root, err
}

// FindFile returns dir or the nearest folder above it that has a file with this name. The error is
// fs.ErrNotExist if there is none.
func FindFile(dir, name string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for d := abs; ; d = filepath.Dir(d) {
		_, err := os.Stat(filepath.Join(d, name))
		switch {
		case err == nil && d == abs:
			return filepath.Clean(dir), nil
		case err == nil:
			return d, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case d == filepath.Dir(d):
			return "", fs.ErrNotExist
		}
	}
}

// Open returns the root of the project that dir is in, and the project. Errors are those of Find and Load; with
// one of Load the root is set, too.
func Open(dir string) (root string, p *Project, err error) {
	if root, err = Find(dir); err != nil {
		return "", nil, err
	}
	p, err = Load(root)
	return root, p, err
}

// Load reads the project in dir. The error is a *NoProjectError or a *ForeignError, or names the file,
// the line and the mistake.
func Load(dir string) (*Project, error) {
	file := filepath.Join(dir, ProjectFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NoProjectError{Dir: dir}
	}
	if err != nil {
		return nil, err
	}
	if e := foreign(data); e != nil {
		e.File = file
		return nil, e
	}
	p, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// lineError is a mistake in a line of the project file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// parse parses a project file. The file must be as flyball writes it, except for order and
// comments.
func parse(data []byte) (*Project, error) {
	p := &Project{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(p); err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", ""), "yaml: "))
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	root := doc.Content[0]
	if p.Version != projectVersion {
		return nil, &lineError{lineOf(root, "version"), fmt.Errorf("version %d of this file is not known: this flyball knows version %d", p.Version, projectVersion)}
	}
	for _, x := range []struct {
		key string
		err error
	}{{"name", checkName(p.Name)}, {"domain", checkDomain(p.Domain)}, {"module", checkModule(p.Module)}} {
		if x.err != nil {
			return nil, &lineError{lineOf(root, x.key), x.err}
		}
	}
	whole := *p
	whole.APIs = nil
	for i, a := range p.APIs {
		if err := whole.checkAPI(&a); err != nil {
			return nil, &lineError{value(root, "apis").Content[i].Line, err}
		}
		whole.APIs = append(whole.APIs, a)
	}
	return p, nil
}

// checkAPI returns the error of an API that is to follow those of the project.
func (p *Project) checkAPI(a *API) error {
	if err := errors.Join(p.checkGroupOf(a), checkKind(a.Kind), checkPlural(a.Plural)); err != nil {
		return err
	}
	if p.Namespaced && !a.Namespaced {
		return &ScopeError{Kind: a.Kind}
	}
	if len(a.Versions) == 0 {
		return fmt.Errorf("%s has no versions", a.Kind)
	}
	seen := map[string]bool{}
	for _, v := range a.Versions {
		if err := checkVersion(v.Name); err != nil {
			return err
		}
		if seen[v.Name] {
			return fmt.Errorf("%s has version %s twice", a.Kind, v.Name)
		}
		seen[v.Name] = true
	}
	if !seen[a.Hub] {
		return fmt.Errorf("the hub of %s, %q, is none of its versions", a.Kind, a.Hub)
	}
	for _, b := range p.APIs {
		switch {
		case a.Group == b.Group && p.GroupOf(a) != p.GroupOf(&b):
			return fmt.Errorf("the group %s is %s in this project, not %s", a.Group, groupName(p.GroupOf(&b)), groupName(p.GroupOf(a)))
		case a.Group == b.Group && a.Kind == b.Kind:
			return fmt.Errorf("the group %s has the kind %s already", a.Group, a.Kind)
		case a.Group == b.Group && strings.EqualFold(a.Kind, b.Kind):
			return fmt.Errorf("the kinds %s and %s of the group %s would have the same files", a.Kind, b.Kind, a.Group)
		case strings.EqualFold(p.ControllerName(a), p.ControllerName(&b)):
			return fmt.Errorf("%s of the group %s and %s of the group %s both need the Go name %s", a.Kind, a.Group, b.Kind, b.Group, p.ControllerName(&b))
		case a.Group == b.Group && a.Plural == b.Plural:
			return fmt.Errorf("the group %s has %s already, of the kind %s", a.Group, a.Plural, b.Kind)
		case a.Group != b.Group && alias(a.Group) == alias(b.Group):
			return fmt.Errorf("the groups %s and %s have the same name in Go, %s", a.Group, b.Group, alias(a.Group))
		case a.Group == b.Group && a.External == nil:
			for _, name := range identifiers(a.Kind) {
				if slices.Contains(identifiers(b.Kind), name) {
					return fmt.Errorf("the kinds %s and %s both need the Go name %s", a.Kind, b.Kind, name)
				}
			}
		}
	}
	return nil
}

// identifiers returns the Go names that a kind uses in its API package, with all webhooks that it may get.
func identifiers(kind string) []string {
	return []string{kind, kind + "List", kind + "Spec", kind + "Status", "Default" + kind, "Validate" + kind}
}

// value returns the value of a key of a mapping, or an empty node.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return &yaml.Node{Line: mapping.Line}
}

func lineOf(mapping *yaml.Node, key string) int { return value(mapping, key).Line }

// encode returns the text of the project file.
func (p *Project) encode() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("# What this project consists of. Written by flyball, which reads it at every step.\n")
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(p), enc.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", ProjectFile, err)
	}
	return out.Bytes(), nil
}

// find returns the API with this group and kind, or nil.
func (p *Project) find(group, kind string) *API {
	for i := range p.APIs {
		if a := &p.APIs[i]; a.Group == group && a.Kind == kind {
			return a
		}
	}
	return nil
}

// clone returns a deep copy.
func (p *Project) clone() *Project {
	c := *p
	c.APIs = slices.Clone(p.APIs)
	for i := range c.APIs {
		c.APIs[i].Versions = slices.Clone(c.APIs[i].Versions)
		if e := c.APIs[i].External; e != nil {
			own := *e
			c.APIs[i].External = &own
		}
	}
	return &c
}

// find returns this version, or nil.
func (a *API) find(version string) *Version {
	for i := range a.Versions {
		if a.Versions[i].Name == version {
			return &a.Versions[i]
		}
	}
	return nil
}

// ControllerName returns the Go name of a kind's controller: the kind, prefixed by the group if an
// earlier API has a controller with that name.
func (p *Project) ControllerName(a *API) string {
	if a.Name != "" {
		return a.Name
	}
	for i := range p.APIs {
		b := &p.APIs[i]
		if b.Group == a.Group && b.Kind == a.Kind {
			break
		}
		if strings.EqualFold(b.Kind, a.Kind) {
			g := []rune(alias(a.Group))
			g[0] = unicode.ToUpper(g[0])
			return string(g) + a.Kind
		}
	}
	return a.Kind
}

// Package is one API package of the project.
type Package struct {
	Group, Version string
	// Path is the import path of a package of others.
	Path string
	// Kinds are the kinds of the package, in the order of the project.
	Kinds []string
}

// Packages returns the API packages in the order of their creation.
func (p *Project) Packages() []Package {
	var out []Package
	for _, a := range p.OwnAPIs() {
		for _, v := range a.Versions {
			i := slices.IndexFunc(out, func(x Package) bool { return x.Group == a.Group && x.Version == v.Name })
			if i < 0 {
				i = len(out)
				out = append(out, Package{Group: a.Group, Version: v.Name})
			}
			out[i].Kinds = append(out[i].Kinds, a.Kind)
		}
	}
	return out
}
