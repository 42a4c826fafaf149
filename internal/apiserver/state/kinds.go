package state

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// kinds has the kinds that a state serves, and the paths of their objects.
type kinds struct {
	err      error
	known    map[schema.GroupKind]resource // in the preferred version
	versions map[schema.GroupVersionKind]resource
}

// resource is a kind in one version that is served.
type resource struct {
	root       string // "/apis/apps/v1"
	plural     string
	namespaced bool
}

// discovered has the fields that are read of a document of aggregated discovery.
type discovered struct {
	Items []struct {
		Metadata struct{ Name string }
		Versions []struct {
			Version   string
			Resources []struct {
				Resource     string
				Scope        string
				ResponseKind struct{ Group, Kind string }
			}
		}
	}
}

// readKinds returns the kinds by discovery. An error of discovery is returned by path.
func readKinds(v core.View, now time.Time) *kinds {
	k := &kinds{known: map[schema.GroupKind]resource{}, versions: map[schema.GroupVersionKind]resource{}}
	for _, root := range []string{"/api", "/apis"} {
		a := v.Read(now, core.Request{Method: http.MethodGet, URL: root, User: core.Administrator.Name, Groups: core.Administrator.Groups, Accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
		var d discovered
		if err := json.Unmarshal(a.Body, &d); err != nil || a.Code != http.StatusOK {
			k.err = fmt.Errorf("%s answered %d %q: %w", root, a.Code, a.Body, err)
			return k
		}
		for _, group := range d.Items {
			for _, version := range group.Versions {
				at := root + "/" + version.Version
				if group.Metadata.Name != "" {
					at = root + "/" + group.Metadata.Name + "/" + version.Version
				}
				for _, r := range version.Resources {
					kind := schema.GroupKind{Group: group.Metadata.Name, Kind: r.ResponseKind.Kind}
					found := resource{at, r.Resource, r.Scope == "Namespaced"}
					if own := kind.WithVersion(version.Version); k.versions[own].plural == "" {
						k.versions[own] = found
					}
					if _, known := k.known[kind]; !known {
						k.known[kind] = found
					}
				}
			}
		}
	}
	return k
}

// path returns the path of an object, in its own version if that is served: then no webhook has to convert it.
func (k *kinds) path(id identity) (string, error) {
	if k.err != nil {
		return "", k.err
	}
	gv, err := schema.ParseGroupVersion(id.APIVersion)
	if err != nil {
		return "", err
	}
	r, ok := k.versions[gv.WithKind(id.Kind)]
	if !ok {
		r, ok = k.known[schema.GroupKind{Group: gv.Group, Kind: id.Kind}]
	}
	switch {
	case !ok:
		return "", &unknownKind{gv.WithKind(id.Kind)}
	case r.namespaced && id.Metadata.Namespace == "":
		return "", fmt.Errorf("it has no namespace")
	case !r.namespaced && id.Metadata.Namespace != "":
		return "", fmt.Errorf("its kind has no namespaces, and it has one")
	case r.namespaced:
		return r.root + "/namespaces/" + url.PathEscape(id.Metadata.Namespace) + "/" + r.plural + "/" + url.PathEscape(id.Metadata.Name), nil
	}
	return r.root + "/" + r.plural + "/" + url.PathEscape(id.Metadata.Name), nil
}

// unknownKind is the error about a kind that is not served.
type unknownKind struct{ kind schema.GroupVersionKind }

func (u *unknownKind) Error() string {
	return "its kind is not served, and no document before it defines it"
}
