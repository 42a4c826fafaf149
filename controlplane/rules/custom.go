package main

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	autoscaling "k8s.io/kubernetes/pkg/apis/autoscaling"
)

// crdKeys begins the keys of custom resource definitions.
const crdKeys = "/apiextensions.k8s.io/customresourcedefinitions/"

// customPriority is the priority of groups of custom resources.
const customPriority = 1000

type definition = apiextensions.CustomResourceDefinition

// customResources has the handlers of custom resources: one for each definition, keyed by its text. Servers with
// equal definitions share it, since compiling a schema takes milliseconds. It is safe for concurrent use.
type customResources struct {
	admit  admissionChain
	table  *table
	models func() (map[string]*spec.Schema, error) // schemas of metadata

	mu       sync.Mutex
	read     *kept[[32]byte, *readDefinition] // by the text
	handlers *kept[[32]byte, http.Handler]    // by the sum of the definition
	listed   *kept[[32]byte, *documents]      // by the sums of all definitions
}

// readDefinition is a definition that was decoded. Callers share it and must not change it.
type readDefinition struct {
	*definition
	// sum is that of what the handler and the documents depend on. It encodes the schemas, and does so once: for a
	// large definition that takes longer than most requests.
	sum func() ([32]byte, error)
}

func newCustomResources(t *table, admit admissionChain, models func() (map[string]*spec.Schema, error)) *customResources {
	return &customResources{table: t, admit: admit, models: models,
		read: newKept[[32]byte, *readDefinition](maxRead, nil), handlers: newKept[[32]byte, http.Handler](maxHandlers, nil), listed: newKept[[32]byte, *documents](maxListed, nil)}
}

// These bound what is kept, for all servers together. A handler takes 0.2 to 1.3 MB for a
// definition of up to 50 kB, 9 MB for one of 670 kB.
const (
	maxRead     = 1024
	maxHandlers = 256
	maxListed   = 64
)

// definition decodes a definition. Callers share the result and must not change it.
func (c *customResources) definition(text []byte) (*definition, error) {
	d, err := c.decode(text)
	if err != nil {
		return nil, err
	}
	return d.definition, nil
}

func (c *customResources) decode(text []byte) (*readDefinition, error) {
	key := sha256.Sum256(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, ok := c.read.get(key); ok {
		return d, nil
	}
	d := &definition{}
	if err := runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, d); err != nil {
		return nil, err
	}
	out := &readDefinition{definition: d, sum: sync.OnceValues(func() ([32]byte, error) {
		text, err := json.Marshal(served(d))
		return sha256.Sum256(text), err
	})}
	c.read.put(key, out)
	return out, nil
}

// served returns those fields of a definition on which its handler depends. Without times of conditions the handler
// never waits for other servers to learn of the definition.
func served(d *definition) *definition {
	own := &definition{ObjectMeta: metav1.ObjectMeta{Name: d.Name, UID: "definition"}, Spec: d.Spec}
	own.Status.AcceptedNames = d.Status.AcceptedNames
	for _, condition := range d.Status.Conditions {
		own.Status.Conditions = append(own.Status.Conditions, apiextensions.CustomResourceDefinitionCondition{Type: condition.Type, Status: condition.Status})
	}
	return own
}

// of returns the definition of the resource of a request; nil if there is none.
func (c *customResources) of(call *call, info *request.RequestInfo) (*readDefinition, error) {
	text := call.get(crdKeys + info.Resource + "." + info.APIGroup)
	if text == nil {
		return nil, nil
	}
	return c.decode(text)
}

// all returns the definitions of a call, sorted by name.
func (c *customResources) all(call *call) ([]*definition, error) {
	var out []*definition
	for _, text := range call.under(crdKeys) {
		d, err := c.definition(text)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// handler returns the handler of a custom resource.
func (c *customResources) handler(d *readDefinition) (http.Handler, error) {
	sum, err := d.sum()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, ok := c.handlers.get(sum); ok {
		return h, nil
	}
	models, err := c.models()
	if err != nil {
		return nil, err
	}
	own, one := served(d.definition), &converting{}
	clients := &hookClients{purpose: converts, lock: &one.lock}
	if conversion := own.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		one.calls = true
		clients.bundles = [][]byte{conversion.Webhook.ClientConfig.CABundle}
	}
	h, err := apiextensionsserver.NewCustomResourceDefinitionHandler(nil, nil, oneDefinition{d: own}, http.NotFoundHandler(), c.table, c.admit, nil,
		webhook.NewDefaultServiceResolver(), clients.wrap, 1, mayDo, requestTimeout, watchTimeout, models, maxBody)
	if err != nil {
		return nil, err
	}
	one.handler = h
	c.handlers.put(sum, one)
	return one, nil
}

// converting is the handler of a custom resource. Converters pass no context, so it serves one call at a time if they
// call a webhook.
type converting struct {
	handler http.Handler
	calls   bool // whether a webhook converts
	lock    callLock
}

func (c *converting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.calls {
		defer c.lock.acquire(callFrom(r.Context()))()
	}
	c.handler.ServeHTTP(w, r)
}

// oneDefinition is an informer and lister of one definition, which never changes.
type oneDefinition struct {
	cache.SharedIndexInformer // not used
	d                         *definition
}

var (
	_ informers.CustomResourceDefinitionInformer = oneDefinition{}
	_ listers.CustomResourceDefinitionLister     = oneDefinition{}
	_ cache.SharedIndexInformer                  = oneDefinition{}
)

func (l oneDefinition) Informer() cache.SharedIndexInformer            { return l }
func (l oneDefinition) Lister() listers.CustomResourceDefinitionLister { return l }
func (l oneDefinition) List(labels.Selector) ([]*definition, error)    { return []*definition{l.d}, nil }
func (l oneDefinition) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return nil, nil
}

func (l oneDefinition) Get(name string) (*definition, error) {
	if name != l.d.Name {
		return nil, apierrors.NewNotFound(apiextensions.Resource("customresourcedefinitions"), name)
	}
	return l.d, nil
}

func hasCondition(d *definition, kind apiextensions.CustomResourceDefinitionConditionType) bool {
	return apiextensionshelpers.IsCRDConditionTrue(d, kind)
}

// documents returns the discovery documents of the built-in groups and of the definitions of a call.
func (c *customResources) documents(call *call, groups []builtin) (*documents, error) {
	var defined []*definition
	hash := sha256.New()
	for _, text := range call.under(crdKeys) {
		d, err := c.decode(text)
		if err != nil {
			return nil, err
		}
		if !hasCondition(d.definition, apiextensions.Established) {
			continue
		}
		sum, err := d.sum()
		if err != nil {
			return nil, err
		}
		hash.Write(sum[:])
		defined = append(defined, d.definition)
	}
	sum := [32]byte(hash.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, ok := c.listed.get(sum); ok {
		return d, nil
	}
	out := newDocuments()
	own := map[string]bool{} // the built-in groups, and their versions
	for _, b := range groups {
		out.add(b.group, b.version, b.resources)
		own[b.group.name], own[b.group.name+"/"+b.version.name] = true, true
	}
	for _, g := range customGroups(defined) {
		for _, v := range g.versions {
			if own[g.name+"/"+v.name] {
				continue // a definition adds nothing to it
			}
			resources, plain := customVersion(defined, g.name, v.name)
			out.add(g, v, resources)
			if own[g.name] {
				plain = nil // its paths lead nowhere
			}
			out.custom[schema.GroupVersion{Group: g.name, Version: v.name}] = plain
		}
	}
	out.ready()
	out.schemas = sync.OnceValues(func() (http.Handler, error) { return customSchemas(defined) })
	c.listed.put(sum, out)
	return out, nil
}

// customGroups returns the groups of the definitions. The versions of each are sorted, the preferred one first.
func customGroups(defined []*definition) []group {
	versions := map[string][]string{}
	for _, d := range defined {
		for _, v := range d.Spec.Versions {
			if v.Served && !slices.Contains(versions[d.Spec.Group], v.Name) {
				versions[d.Spec.Group] = append(versions[d.Spec.Group], v.Name)
			}
		}
	}
	var out []group
	for name, names := range versions {
		slices.SortFunc(names, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
		g := group{name: name, priority: customPriority}
		for _, v := range names {
			g.versions = append(g.versions, groupVersion{name: v, priority: 100})
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b group) int { return strings.Compare(a.name, b.name) })
	return out
}

// customVersion returns the resources of one version of a group, in both forms of discovery.
func customVersion(defined []*definition, group, version string) ([]apidiscoveryv2.APIResourceDiscovery, []metav1.APIResource) {
	var resources []apidiscoveryv2.APIResourceDiscovery
	var plain []metav1.APIResource
	for _, d := range defined {
		if d.Spec.Group != group || !apiextensionshelpers.HasServedCRDVersion(d, version) {
			continue
		}
		names, namespaced := d.Status.AcceptedNames, d.Spec.Scope == apiextensions.NamespaceScoped
		verbs := metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
		if hasCondition(d, apiextensions.Terminating) {
			verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
		}
		hash := ""
		if stored, err := apiextensionshelpers.GetCRDStorageVersion(d); err == nil {
			hash = discovery.StorageVersionHash(group, stored, d.Spec.Names.Kind)
		}
		plain = append(plain, metav1.APIResource{Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind, Verbs: verbs,
			ShortNames: names.ShortNames, Categories: names.Categories, StorageVersionHash: hash})
		r := apidiscoveryv2.APIResourceDiscovery{Resource: names.Plural, SingularResource: names.Singular, Scope: apidiscoveryv2.ScopeCluster,
			ResponseKind: &metav1.GroupVersionKind{Group: group, Version: version, Kind: names.Kind}, Verbs: verbs, ShortNames: names.ShortNames, Categories: names.Categories}
		if namespaced {
			r.Scope = apidiscoveryv2.ScopeNamespace
		}
		below := func(name string, kind metav1.GroupVersionKind) {
			sub := metav1.Verbs{"get", "patch", "update"}
			r.Subresources = append(r.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: name, ResponseKind: &kind, Verbs: sub})
			p := metav1.APIResource{Name: names.Plural + "/" + name, Namespaced: namespaced, Kind: kind.Kind, Verbs: sub}
			if kind.Group != group {
				p.Group, p.Version = kind.Group, kind.Version
			}
			plain = append(plain, p)
		}
		if subs, err := apiextensionshelpers.GetSubresourcesForVersion(d, version); err == nil && subs != nil {
			if subs.Status != nil {
				below("status", *r.ResponseKind)
			}
			if subs.Scale != nil {
				below("scale", metav1.GroupVersionKind{Group: autoscaling.GroupName, Version: "v1", Kind: "Scale"})
			}
		}
		resources = append(resources, r)
	}
	return resources, plain
}
