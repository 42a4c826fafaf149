package main

import (
	"fmt"
	"net/http"

	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
)

func servesVersion(d *definition, version string) bool {
	return apiextensionshelpers.HasServedCRDVersion(d, version)
}

// shownSchemas is a discovery client that has schemas, and nothing else.
type shownSchemas struct {
	discovery.DiscoveryInterface // not used
	api                          *api
	turn                         *turns
	custom                       schema.GroupVersion // one that is not built in; it may be empty
}

func (s *shownSchemas) OpenAPIV3() openapi.Client { return s }

// Paths returns the schemas of all versions that a policy may be about.
func (s *shownSchemas) Paths() (map[string]openapi.GroupVersion, error) {
	out := map[string]openapi.GroupVersion{}
	for _, b := range s.api.groups {
		path := "apis/" + b.group.name + "/" + b.version.name
		if b.group.name == "" {
			path = "api/" + b.version.name
		}
		out[path] = shownSchema{s, path, false}
	}
	if !s.custom.Empty() {
		path := "apis/" + s.custom.String()
		out[path] = shownSchema{s, path, true}
	}
	return out, nil
}

// shownSchema are the schemas of one version of a group.
type shownSchema struct {
	of     *shownSchemas
	path   string
	custom bool
}

func (s shownSchema) ServerRelativeURL() string { return openAPIPath + "/" + s.path }

func (s shownSchema) Schema(contentType string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, s.ServerRelativeURL(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", contentType)
	h := http.Handler(nil)
	if s.custom {
		d, err := s.of.api.custom.documents(s.of.turn.call, s.of.api.groups)
		if err != nil {
			return nil, err
		}
		if h, err = s.of.api.openAPI(d, s.ServerRelativeURL()); err != nil {
			return nil, err
		}
	} else {
		h = s.of.api.schemas()
	}
	w := &response{header: http.Header{}}
	if h.ServeHTTP(w, r); w.code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", s.path, w.code, w.body.Bytes())
	}
	return w.body.Bytes(), nil
}
