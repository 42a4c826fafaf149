package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// definitions remembers the CustomResourceDefinitions of kinds. A kind whose definition is gone is gone with
// all of its objects: nothing else proves that. An API server reads a definition from the storage that
// all servers of the cluster share, not from its memory.
type definitions struct {
	mu    sync.Mutex
	kinds map[schema.GroupKind]*definition
}

// definition is what is known of the definition of a kind. The lock of definitions guards it.
type definition struct {
	name string          // of the definition; another one is another definition
	uid  types.UID       // of the definition when it was read; empty: it was not read
	err  error           // why it was not read; nil with a uid, and before the first attempt
	wait backoff.Backoff // until the next attempt
	busy bool            // an attempt is under way
}

// defining is the backoff of reading a definition.
var defining = backoff.Policy{Base: time.Minute, Max: time.Hour}

var (
	errNotCustom = errors.New("the kind is not one of a CustomResourceDefinition")
	errNotRead   = errors.New("its CustomResourceDefinition was not read while it was served")
	errIsThere   = errors.New("its CustomResourceDefinition is there")
	errOtherName = errors.New("the answer is another object")
)

// builtIn has the groups with a dot whose kinds every API server has compiled in. To ask for the definition of
// another such kind costs one request, which finds none.
var builtIn = map[string]bool{
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true,
	"flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true,
	"scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// custom reports whether the kinds of a group may have definitions. The group of a custom resource has a dot.
func custom(group string) bool { return strings.Contains(group, ".") && !builtIn[group] }

// definitionName is the name of the definition of a resource, or "" if it cannot have one.
func definitionName(r schema.GroupVersionResource) string {
	if !custom(r.Group) {
		return ""
	}
	return r.Resource + "." + r.Group
}

// Define reads the CustomResourceDefinition of the kind, so that [Feed.Gone] can prove later that the kind is
// gone. Call it while the kind is served, and again from time to time. It sends one request for each kind
// of the client. It repeats that only while the server does not answer, or denies it: after a minute, then
// two, up to an hour. Kinds that cannot have a definition cost nothing.
func (f *Feed) Define(ctx context.Context) {
	m, err := f.c.Mapping(ctx, f.kind.GVK)
	if err != nil {
		return
	}
	name := definitionName(m.Resource)
	d := f.c.defined.begin(f.kind.GVK.GroupKind(), name)
	if d == nil {
		return
	}
	uid, err := f.c.definition(ctx, name)
	f.c.defined.end(d, uid, err)
}

// begin claims the next attempt to read a definition; nil: there is none to make.
func (all *definitions) begin(gk schema.GroupKind, name string) *definition {
	all.mu.Lock()
	defer all.mu.Unlock()
	d := all.kinds[gk]
	switch {
	case name == "":
		return nil
	case d == nil || d.name != name && !d.busy:
		d = &definition{name: name, wait: backoff.Backoff{Policy: defining}}
		all.kinds[gk] = d
	case d.busy || d.uid != "" || time.Now().Before(d.wait.Until):
		return nil
	}
	d.busy = true
	return d
}

func (all *definitions) end(d *definition, uid types.UID, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	d.busy, d.uid, d.err = false, uid, err
	now := time.Now()
	d.wait.Fail(now)
	if noDefinition(err, d.name) {
		d.err, d.wait.Until = errNotCustom, now.Add(defining.Max)
	}
}

// known returns the name of the definition of a kind if it was read, else why not.
func (all *definitions) known(gk schema.GroupKind) (string, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch d := all.kinds[gk]; {
	case !custom(gk.Group):
		return "", errNotCustom
	case d == nil || d.uid == "" && d.err == nil:
		return "", errNotRead
	case d.uid == "":
		return "", d.err
	default:
		return d.name, nil
	}
}

// Gone reports whether the kind is gone with all of its objects. The proof is its CustomResourceDefinition:
// [Feed.Define] has read it before, and now the API server says that there is none of that name. The
// error says why there is no proof. A built-in kind, one of an aggregated API server, and one whose definition
// may not be read are never gone.
func (f *Feed) Gone(ctx context.Context) (bool, error) {
	name, err := f.c.defined.known(f.kind.GVK.GroupKind())
	if err != nil {
		return false, err
	}
	switch _, err := f.c.definition(ctx, name); {
	case err == nil:
		return false, errIsThere
	case noDefinition(err, name):
		return true, nil
	default:
		return false, err
	}
}

// Shows tells the scope of an object of the kind. If the kind has another one by the last discovery, the next call
// of the client runs a new one. Shows sends nothing.
func (f *Feed) Shows(namespaced bool) {
	m, ok := f.c.mapper.(*mapper)
	if !ok {
		return
	}
	if known := m.Known(f.kind.GVK); known != nil && namespaced != (known.Scope.Name() == meta.RESTScopeNameNamespace) {
		m.gone(known.Resource)
	}
}

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// definition asks the server for the metadata of a definition. It asks for no resourceVersion, so the answer
// comes from the storage.
func (c *Live) definition(ctx context.Context, name string) (types.UID, error) {
	r := &request{
		call:   Call{Verb: verbGet, Resource: definitionResource, Kind: "CustomResourceDefinition", Key: object.Key{Name: name}},
		path:   []string{"apis", definitionResource.Group, definitionResource.Version, definitionResource.Resource, name},
		accept: wire.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + wire.ContentTypeJSON,
	}
	var found struct {
		Metadata struct {
			Name string
			UID  types.UID
		}
	}
	err := c.link.document(ctx, r, &found, func() error {
		if found.Metadata.Name != name || found.Metadata.UID == "" {
			return errOtherName
		}
		return nil
	})
	return found.Metadata.UID, err
}

// noDefinition reports whether err is the answer of an API server that has no definition of the name. A 404
// without a Status, or about something else, says nothing.
func noDefinition(err error, name string) bool {
	api := apierrors.APIStatus(nil)
	if !errors.As(err, &api) || !apierrors.IsNotFound(err) {
		return false
	}
	d := api.Status().Details
	return d != nil && d.Name == name && d.Group == definitionResource.Group && d.Kind == definitionResource.Resource
}
