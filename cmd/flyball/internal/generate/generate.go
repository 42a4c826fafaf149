// Package generate makes the files that a project derives from its Go types and their markers:
// DeepCopy code, apply configurations, CustomResourceDefinitions, a ClusterRole and webhook
// configurations. The generators are those of sigs.k8s.io/controller-tools and k8s.io/code-generator. This package adds the checks that they
// lack, and writes either all files or none.
//
//	Go files ──load──► packages ──markers──► every marker, parsed and placed ──┐
//	                      │         (wrong: stop; unknown, misplaced: a warning) │
//	                      ├──deepcopy──► code, in memory ──compile──► types right │
//	                      └──crd, rbac, webhook──► YAML, in memory ◄─────────────┘
//	                                                   │ no problem at all
//	                                                   ▼
//	                              Plan: write, leave alone, remove ──Apply──► files
//
// Nothing is written while there is a problem. Warnings hold nothing up. A +flyball: marker that is
// unknown or misplaced is a problem. A file with the right content is not touched. A generated file
// whose source is gone is removed.
package generate

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Options configures the generators.
type Options struct {
	// Dir is a folder of the project's module. Paths, also those in problems, are relative to it.
	// Default: the working directory.
	Dir string
	// Paths are the packages to read, as the go command takes them: folders that begin with "./",
	// or import paths, each with or without "/...". All of them belong to the module of Dir.
	// Modules inside it are not read. Default: "./...".
	Paths []string
	// Env is added to the environment of the go command, as KEY=VALUE.
	Env []string
	// HeaderFile is a file with a Go comment for the top of generated code. Default: none.
	HeaderFile string
	// Year replaces the word YEAR in HeaderFile. Default: no replacement.
	Year string
	// Output is the folder of the manifests. Default: "config".
	Output string
	// RoleName is the name of the ClusterRole, unless a marker gives one. Default: "manager-role".
	RoleName string
	// MaxDescription bounds the descriptions in CRDs, in characters. A longer one is cut at the end
	// of a sentence, if there is one. Zero omits descriptions; nil and negative keep them whole.
	MaxDescription *int
	// EmbeddedObjectMeta has the fields of an ObjectMeta that is inside of a spec in CRDs. Otherwise
	// the API server drops them.
	EmbeddedObjectMeta bool
	// DangerousTypes allows floats in CRDs.
	DangerousTypes bool
	// RoleNamespace has markers of permissions without a namespace make a Role in this one, and no
	// ClusterRole. The API server then calls webhooks for objects of this namespace only. Default:
	// a ClusterRole.
	RoleNamespace string
	// HookNamespace is the namespace of the program. The API server calls no webhook of a kind of
	// Kubernetes for objects of this namespace and of kube-system, so that the program can always
	// be started. Default: it calls them for all namespaces.
	HookNamespace string
	// DeployNamespace is the namespace that a kustomization gives to all objects. A marker of permissions in another one is
	// a problem. Default: it gives none.
	DeployNamespace string
	// Accept asks an API server whether it takes a definition. What it rejects is a problem at the marker or the field
	// that it comes from: a status error with causes. Any other error ends the plan. Default: nobody is asked.
	Accept func(ctx context.Context, d *extv1.CustomResourceDefinition) error
	// AllowRejected has definitions, roles and webhook configurations that an API server would reject, with a warning:
	// for a project that patches them before it applies them. Default: they are problems.
	AllowRejected bool
}

func (o Options) withDefaults() (Options, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if len(o.Paths) == 0 {
		o.Paths = []string{"./..."}
	}
	if o.Output == "" {
		o.Output = "config"
	}
	if o.RoleName == "" {
		o.RoleName = "manager-role"
	}
	if o.MaxDescription != nil && *o.MaxDescription < 0 {
		o.MaxDescription = nil
	}
	return o, nil
}

// abs returns the absolute form of a path relative to Dir.
func (o Options) abs(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(o.Dir, p)
}

// Code plans the DeepCopy code and the apply configurations of all packages with the markers for it. It writes nothing. The
// error is a [Problems] if the project's code or markers are wrong. The plan then has warnings alone, or is nil.
func Code(ctx context.Context, o Options) (*Plan, error) {
	return plan(ctx, o, false, true, (*project).planCode)
}

// Manifests plans the manifests of all packages. It writes nothing. The error is a [Problems] if
// the project's code or markers are wrong; the plan then has warnings alone, or is nil. Files are removed only if all
// packages of the module were read.
func Manifests(ctx context.Context, o Options) (*Plan, error) {
	return plan(ctx, o, false, false, (*project).planManifests)
}

// All plans what [Code] and [Manifests] do, and reads the packages once. If it reads all packages of the module, it also
// checks what [Compile] does, of the module as it will be. Only apply configurations cannot be checked before they are
// there: see [Plan.Compiles].
func All(ctx context.Context, o Options) (*Plan, error) {
	return plan(ctx, o, true, true, (*project).planCode, (*project).planManifests)
}

// plan loads the project and makes the parts of a plan. It generates the DeepCopy code if a part wants that. It checks
// all packages if all is set. Types that do not compile would lead to a wrong schema without an error. So they are
// checked for manifests, too.
func plan(ctx context.Context, o Options, all, wanted bool, parts ...part) (*Plan, error) {
	p, plan, err := planOnce(ctx, o, false, all, wanted, parts)
	if p != nil && p.lacking() {
		_, plan, err = planOnce(ctx, o, true, all, wanted, parts)
	}
	return plan, err
}

// part makes a part of a plan.
type part func(p *project, plan *Plan, code map[string][]byte) error

// planOnce makes a plan, with all source or without that of cgo and the standard library.
func planOnce(ctx context.Context, o Options, source, all, wanted bool, parts []part) (*project, *Plan, error) {
	p, err := open(ctx, o, source)
	if err != nil {
		return p, p.warned(), err
	}
	p.all = all && p.whole && !slices.ContainsFunc(p.marks, func(m *mark) bool { return m.def.Name == applyMarker })
	var code map[string][]byte
	if wanted {
		code, err = p.code()
	} else {
		err = p.checkTypes()
	}
	if err != nil {
		return p, p.warned(), err
	}
	plan := &Plan{Root: p.Dir, Compiles: p.all}
	for _, part := range parts {
		if err := part(p, plan, code); err != nil {
			return p, p.warned(), err
		}
	}
	if err := p.refuse(plan); err != nil {
		return p, p.warned(), err
	}
	plan.Warnings = p.warnings.sorted()
	return p, plan, nil
}

// warned returns a plan that changes nothing, with the warnings so far. There is none without a project.
func (p *project) warned() *Plan {
	if p == nil {
		return nil
	}
	return &Plan{Root: p.Dir, Warnings: p.warnings.sorted()}
}

// planCode adds the code to a plan.
func (p *project) planCode(plan *Plan, code map[string][]byte) error {
	applied, err := p.applyConfigurations()
	if err != nil {
		return err
	}
	maps.Copy(applied, code)
	for _, path := range slices.Sorted(maps.Keys(applied)) {
		if err := plan.add(path, applied[path]); err != nil {
			return err
		}
	}
	stale, err := p.staleCode(applied)
	if err != nil {
		return err
	}
	plan.removeAll(stale)
	return nil
}

// planManifests adds the manifests to a plan, and sorts it.
func (p *project) planManifests(plan *Plan, _ map[string][]byte) error {
	dir := p.abs(p.Output)
	bases := filepath.Join(dir, "crd", "bases")
	crds, err := p.crds(bases)
	if err != nil {
		return err
	}
	role, err := p.roles()
	if err != nil {
		return err
	}
	webhooks, err := p.webhooks()
	if err != nil {
		return err
	}
	mark := p.markIn(dir)
	for _, path := range slices.Sorted(maps.Keys(crds)) {
		crds[path] = signed(crds[path], mark)
		if err := plan.add(path, crds[path]); err != nil {
			return err
		}
	}
	if p.whole {
		if err := plan.removeStale(bases, crds, mark); err != nil {
			return err
		}
	}
	// A binding needs its role, so an empty role replaces none in projects with roles.
	rolePath := filepath.Join(dir, "rbac", "role.yaml")
	if role == nil && p.whole {
		if role, err = p.emptyRoleAt(rolePath); err != nil {
			return err
		}
	}
	role, webhooks = signed(role, mark), signed(webhooks, mark)
	ours := maps.Clone(crds)
	if role != nil {
		ours[rolePath] = role
	}
	if err := p.warnBeside(dir, ours, mark); err != nil {
		return err
	}
	for path, data := range map[string][]byte{
		rolePath: role,
		filepath.Join(dir, "webhook", "manifests.yaml"): webhooks,
	} {
		if data != nil {
			err = plan.add(path, data)
		} else if p.whole {
			err = plan.removeOurs(path, mark)
		}
		if err != nil {
			return err
		}
	}
	plan.sort()
	return nil
}

// open loads the project and checks its markers. After an error it may return the project, too.
func open(ctx context.Context, o Options, source bool) (*project, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &project{Options: o, ctx: ctx, source: source}
	if err := p.load(); err != nil {
		return p, err
	}
	problems, err := p.readMarkers()
	if err != nil {
		return p, err
	}
	return p, append(problems, p.checkMarkers()...).err()
}

// rejected returns problems for which an API server would reject what is generated, or makes them warnings.
func (p *project) rejected(problems ...Problem) Problems {
	if p.AllowRejected {
		p.warnings = append(p.warnings, problems...)
		return nil
	}
	return problems
}

// warn adds a warning.
func (p *project) warn(pos Position, marker, format string, args ...any) {
	p.warnings = append(p.warnings, Problem{Position: pos, Marker: marker, Message: fmt.Sprintf(format, args...)})
}
