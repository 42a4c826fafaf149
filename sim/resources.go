package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// resources knows the paths of kinds. It asks the server, once for each group version. It is safe for concurrent use.
type resources struct {
	mu       sync.Mutex
	versions map[string][]metav1.APIResource // by group version
	// preferred has the preferred version of each group, by group.
	preferred map[string]string
}

// urlOf returns the path of an object.
func (r *resources) urlOf(v core.View, apiVersion, kind, namespace, name string) (string, error) {
	all, err := r.of(v, apiVersion)
	if err != nil {
		return "", err
	}
	for _, res := range all {
		if res.Kind == kind && !strings.Contains(res.Name, "/") {
			return join(apiVersion, res, namespace, name, ""), nil
		}
	}
	return "", fmt.Errorf("the server has no kind %q in %s: is its definition among CRDs?", kind, apiVersion)
}

// url returns the path of an object. Resource may have a group and a subresource, as in "deployments.apps/status".
func (r *resources) url(v core.View, resource, key string) (string, error) {
	plural, sub, _ := strings.Cut(resource, "/")
	plural, group, _ := strings.Cut(plural, ".")
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	apiVersion, err := r.version(v, group)
	if err != nil {
		return "", err
	}
	all, err := r.of(v, apiVersion)
	if err != nil {
		return "", err
	}
	for _, res := range all {
		if res.Name == plural {
			if res.Namespaced != ok {
				return "", fmt.Errorf("%s %q: the key has the form %s", resource, key, map[bool]string{true: "namespace/name", false: "name"}[res.Namespaced])
			}
			return join(apiVersion, res, namespace, name, sub), nil
		}
	}
	return "", fmt.Errorf("the server has no resource %q in %s", plural, apiVersion)
}

func join(apiVersion string, res metav1.APIResource, namespace, name, sub string) string {
	out := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		out = "/api/" + apiVersion
	}
	if res.Namespaced {
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		out += "/namespaces/" + namespace
	}
	out += "/" + res.Name + "/" + name
	if sub != "" {
		out += "/" + sub
	}
	return out
}

// of returns the resources of a group version.
func (r *resources) of(v core.View, apiVersion string) ([]metav1.APIResource, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.versions[apiVersion]; known != nil {
		return known, nil
	}
	path := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		path = "/api/" + apiVersion
	}
	var list metav1.APIResourceList
	if err := get(v, path, &list); err != nil {
		return nil, err
	}
	if r.versions == nil {
		r.versions = map[string][]metav1.APIResource{}
	}
	r.versions[apiVersion] = list.APIResources
	return list.APIResources, nil
}

// versions matches versions of the API.
var versions = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// version returns the group version that a text names: "apps", or "v1.apps" as kubectl has it.
func (r *resources) version(v core.View, text string) (string, error) {
	if first, group, _ := strings.Cut(text, "."); versions.MatchString(first) {
		return strings.TrimPrefix(group+"/"+first, "/"), nil
	}
	return r.prefer(v, text)
}

// prefer returns the preferred version of a group.
func (r *resources) prefer(v core.View, group string) (string, error) {
	if group == "" {
		return "v1", nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.preferred[group]; known != "" {
		return known, nil
	}
	var g metav1.APIGroup
	if err := get(v, "/apis/"+group, &g); err != nil {
		return "", err
	}
	if r.preferred == nil {
		r.preferred = map[string]string{}
	}
	r.preferred[group] = g.PreferredVersion.GroupVersion
	return g.PreferredVersion.GroupVersion, nil
}

// get reads a document of discovery.
func get(v core.View, path string, into any) error {
	a := v.Read(time.Now(), core.Request{Method: http.MethodGet, URL: path, Accept: "application/json", UserAgent: "user", User: core.Administrator.Name, Groups: core.Administrator.Groups})
	if a.Code == http.StatusNotFound {
		return fmt.Errorf("the server has no %s", strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"))
	}
	if err := failed(a); err != nil {
		return err
	}
	return json.Unmarshal(a.Body, into)
}
