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

// schemaClient is a discovery client that answers only requests for schemas.
type schemaClient struct {
	discovery.DiscoveryInterface // not used
	api                          *api
	lock                         *callLock
	custom                       []schema.GroupVersion // versions of custom resources
}

func (s *schemaClient) OpenAPIV3() openapi.Client { return s }

// Paths returns the schemas of the built-in versions, and of custom ones.
func (s *schemaClient) Paths() (map[string]openapi.GroupVersion, error) {
	out := map[string]openapi.GroupVersion{}
	for _, b := range s.api.groups {
		path := "apis/" + b.group.name + "/" + b.version.name
		if b.group.name == "" {
			path = "api/" + b.version.name
		}
		out[path] = schemaDocument{s, path, false}
	}
	for _, gv := range s.custom {
		path := "apis/" + gv.String()
		out[path] = schemaDocument{s, path, true}
	}
	return out, nil
}

// schemaDocument has the schemas of one version of a group.
type schemaDocument struct {
	of     *schemaClient
	path   string
	custom bool
}

func (s schemaDocument) ServerRelativeURL() string { return openAPIPath + "/" + s.path }

func (s schemaDocument) Schema(contentType string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, s.ServerRelativeURL(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", contentType)
	h := http.Handler(nil)
	if s.custom {
		d, err := s.of.api.custom.documents(s.of.lock.call, s.of.api.groups)
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
