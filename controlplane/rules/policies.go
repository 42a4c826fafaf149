package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion"
)

const policyKeys = "/admissionregistration.k8s.io/"

// policies is the admission plugin that evaluates policies. It has one real plugin for each policy with its bindings,
// keyed by their texts. Policies are evaluated in the order of their names: the real server takes a random order.
type policies struct {
	*admission.Handler
	api     *api
	mutates bool

	mu   sync.Mutex
	made *kept[[32]byte, *policyPlugin]
}

// policyPlugin is the plugin of one policy.
type policyPlugin struct {
	lockedPlugin
	began time.Time     // when the plugin was made
	stop  chan struct{} // closed to end its goroutines
}

func (p *policyPlugin) end() { close(p.stop) }

func newPolicies(a *api, mutates bool) *policies {
	operations := []admission.Operation{admission.Create, admission.Update, admission.Connect}
	if !mutates {
		operations = append(operations, admission.Delete)
	}
	return &policies{Handler: admission.NewHandler(operations...), api: a, mutates: mutates, made: newKept[[32]byte](maxPolicies, (*policyPlugin).end)}
}

// schemaTimeout bounds how long a new plugin may take to read the schemas.
const schemaTimeout = 10 * time.Second

func (p *policies) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if !p.mutates {
		return nil
	}
	all, err := p.of(callFrom(ctx), a)
	if err != nil {
		return err
	}
	for _, plugin := range all {
		err := plugin.Admit(ctx, a, o)
		for apierrors.IsServiceUnavailable(err) && strings.HasPrefix(err.Error(), "Resource kind") && time.Since(plugin.began) < schemaTimeout {
			time.Sleep(time.Millisecond) // it reads schemas in the background, and has no signal for their arrival
			err = plugin.Admit(ctx, a, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *policies) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if p.mutates {
		return nil
	}
	all, err := p.of(callFrom(ctx), a)
	if err != nil {
		return err
	}
	var first error
	for _, plugin := range all {
		first = cmp.Or(first, plugin.Validate(ctx, a, o)) // the others may still warn
	}
	return first
}

// bound has the fields of a policy, or of a binding, that join the two.
type bound struct {
	Metadata struct{ Name string }
	Spec     struct {
		PolicyName string
		ParamKind  *admissionregistration.ParamKind
	}
}

// of returns the plugins of the policies of a call, sorted by name. A policy without a binding has none.
func (p *policies) of(c *call, a admission.Attributes) ([]*policyPlugin, error) {
	sort := "validating"
	if p.mutates {
		sort = "mutating"
	}
	bindings := map[string][]json.RawMessage{}
	for _, text := range c.under(policyKeys + sort + "admissionpolicybindings/") {
		var b bound
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, err
		}
		bindings[b.Spec.PolicyName] = append(bindings[b.Spec.PolicyName], text)
	}
	if len(bindings) == 0 {
		return nil, nil
	}
	var out []*policyPlugin
	for _, text := range c.under(policyKeys + sort + "admissionpolicies/") {
		var b bound
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, err
		}
		if len(bindings[b.Metadata.Name]) == 0 {
			continue
		}
		one, err := p.one(c, a, text, bindings[b.Metadata.Name], b.Spec.ParamKind)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// maxPolicies bounds the plugins that are kept, since each has goroutines.
const maxPolicies = 256

// one returns the plugin of a policy and its bindings.
func (p *policies) one(c *call, a admission.Attributes, policy json.RawMessage, bindings []json.RawMessage, params *admissionregistration.ParamKind) (*policyPlugin, error) {
	mapping, err := p.api.paramKind(c, params)
	if err != nil {
		return nil, err
	}
	texts := append([]json.RawMessage{policy, fmt.Appendf(nil, "%v", mapping)}, bindings...)
	var custom []schema.GroupVersion // those whose schemas may change: a policy may ask for another than the request
	if gvr := a.GetResource(); p.mutates && !p.api.builtin[cmp.Or(gvr.Group, "core")] {
		text := c.get(crdKeys + gvr.Resource + "." + gvr.Group)
		d, err := p.api.custom.definition(text)
		if err != nil {
			return nil, err
		}
		for _, v := range d.Spec.Versions {
			if v.Served {
				custom = append(custom, schema.GroupVersion{Group: gvr.Group, Version: v.Name})
			}
		}
		texts = append(texts, text)
	}
	sum := sumOf(texts)
	p.mu.Lock()
	defer p.mu.Unlock()
	if made, ok := p.made.get(sum); ok {
		return made, nil
	}
	made, err := p.make(policy, bindings, mapping, custom)
	if err == nil {
		p.made.put(sum, made)
	}
	return made, err
}

// policyAdmission has the methods that the plugins of validating and mutating policies share.
type policyAdmission interface {
	admission.Interface
	SetExternalKubeInformerFactory(informers.SharedInformerFactory)
	SetExternalKubeClientSet(kubernetes.Interface)
	SetRESTMapper(meta.RESTMapper)
	SetDynamicClient(dynamic.Interface)
	SetDrainedNotification(<-chan struct{})
	SetAuthorizer(authorizer.Authorizer)
	SetExcludedAdmissionResources([]schema.GroupResource)
	ValidateInitialization() error
}

func (p *policies) make(policy json.RawMessage, bindings []json.RawMessage, mapping *meta.RESTMapping, custom []schema.GroupVersion) (*policyPlugin, error) {
	fixed := map[schema.GroupKind][]runtime.Object{}
	for _, text := range append([]json.RawMessage{policy}, bindings...) {
		obj, kind, err := legacyscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		fixed[kind.GroupKind()] = append(fixed[kind.GroupKind()], obj)
	}
	lock := &callLock{}
	made := &policyPlugin{began: time.Now(), stop: make(chan struct{})}
	var plugin policyAdmission
	if p.mutates {
		m, err := mutating.NewPlugin(nil)
		if err != nil {
			return nil, err
		}
		m.InspectFeatureGates(utilfeature.DefaultFeatureGate)
		plugin = m
	} else {
		v, err := validating.NewPlugin(nil)
		if err != nil {
			return nil, err
		}
		plugin = v
	}
	made.lockedPlugin = lockedPlugin{plugin, lock}
	ready := make(chan struct{})
	plugin.SetExternalKubeInformerFactory(lockedInformers{lock: lock, fixed: fixed, watched: sync.OnceFunc(func() { close(ready) })})
	plugin.SetExternalKubeClientSet(lockedClient{lock: lock, schemas: &schemaClient{api: p.api, lock: lock, custom: custom}})
	plugin.SetRESTMapper(oneMapping{mapping: mapping})
	plugin.SetDynamicClient(struct{ dynamic.Interface }{}) // not used: the informers have all kinds
	plugin.SetDrainedNotification(made.stop)
	plugin.SetAuthorizer(expressionAccess{lock})
	plugin.SetExcludedAdmissionResources(exclusion.Excluded())
	if err := plugin.ValidateInitialization(); err != nil {
		close(made.stop)
		return nil, err
	}
	<-ready // the policy is compiled
	return made, nil
}

var _ interface {
	InspectFeatureGates(featuregate.FeatureGate)
} = (*mutating.Plugin)(nil)

// oneMapping maps the kind of a policy's parameters to its resource. It knows no other kind.
type oneMapping struct {
	meta.RESTMapper // not used
	mapping         *meta.RESTMapping
}

func (m oneMapping) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.mapping == nil {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return m.mapping, nil
}

// paramKind returns the mapping of the kind of a policy's parameters; nil if the server has no such kind.
func (a *api) paramKind(c *call, p *admissionregistration.ParamKind) (*meta.RESTMapping, error) {
	if p == nil {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(p.APIVersion)
	if err != nil {
		return nil, nil // the plugin says so
	}
	kind := gv.WithKind(p.Kind)
	if a.builtin[cmp.Or(gv.Group, "core")] {
		for _, b := range a.groups {
			for _, r := range b.resources {
				if b.group.name == gv.Group && b.version.name == gv.Version && r.ResponseKind != nil && r.ResponseKind.Kind == p.Kind {
					return &meta.RESTMapping{Resource: gv.WithResource(r.Resource), GroupVersionKind: kind, Scope: scopeOf(string(r.Scope) == "Namespaced")}, nil
				}
			}
		}
		return nil, nil
	}
	defined, err := a.custom.all(c)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(defined, func(d *definition) bool {
		return d.Spec.Group == gv.Group && d.Status.AcceptedNames.Kind == p.Kind && servesVersion(d, gv.Version)
	})
	if i < 0 {
		return nil, nil
	}
	d := defined[i]
	return &meta.RESTMapping{Resource: gv.WithResource(d.Spec.Names.Plural), GroupVersionKind: kind, Scope: scopeOf(d.Spec.Scope == "Namespaced")}, nil
}

func scopeOf(namespaced bool) meta.RESTScope {
	if namespaced {
		return meta.RESTScopeNamespace
	}
	return meta.RESTScopeRoot
}
