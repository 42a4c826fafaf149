package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// openAPIPath is the path of the list of documents. Below it is one document for each version of a group.
const openAPIPath = "/openapi/v3"

// openAPI returns the handler of an OpenAPI document.
func (a *api) openAPI(d *documents, path string) (http.Handler, error) {
	custom, err := d.schemas()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimPrefix(path, openAPIPath+"/apis/"), "/")
	if len(parts) == 2 {
		if _, ok := d.custom[schema.GroupVersion{Group: parts[0], Version: parts[1]}]; ok {
			return custom, nil
		}
	}
	if path != openAPIPath {
		return present(a.schemas()), nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := struct {
			Paths map[string]json.RawMessage `json:"paths"`
		}{map[string]json.RawMessage{}}
		get := r.Clone(r.Context())
		get.Method = http.MethodGet
		for _, h := range []http.Handler{custom, a.schemas()} {
			one := &response{header: http.Header{}}
			h.ServeHTTP(one, get)
			part := all
			part.Paths = nil
			if err := json.Unmarshal(one.body.Bytes(), &part); err != nil {
				http.Error(w, fmt.Sprintf("rules: %v: %s", err, one.body.Bytes()), http.StatusInternalServerError)
				return
			}
			maps.Copy(all.Paths, part.Paths)
		}
		text, err := json.Marshal(all)
		if err != nil {
			http.Error(w, "rules: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // as the real server finds by looking at the text
		_, _ = w.Write(text)                                        // into memory
	}), nil
}

// present returns a handler that finds out whether there is a document before whether the client accepts one of its forms.
func present(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		anyForm := r.Clone(r.Context())
		anyForm.Header.Del("Accept")
		found := &response{header: http.Header{}}
		if h.ServeHTTP(found, anyForm); found.code == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// customSchemas returns the handler of the documents of custom resources, one for each version of a group.
func customSchemas(defined []*definition) (http.Handler, error) {
	parts := map[string][]*spec3.OpenAPI{}
	for _, d := range defined {
		for _, v := range d.Spec.Versions {
			if !apiextensionshelpers.HasServedCRDVersion(d, v.Name) {
				continue
			}
			one, err := builder.BuildOpenAPIV3(d, v.Name, builder.Options{IncludeSelectableFields: true})
			if err != nil {
				return nil, err
			}
			name := "apis/" + d.Spec.Group + "/" + v.Name
			parts[name] = append(parts[name], one)
		}
	}
	m := mux.NewPathRecorderMux("openapi")
	service := handler3.NewOpenAPIService()
	if err := service.RegisterOpenAPIV3VersionedService(openAPIPath, m); err != nil {
		return nil, err
	}
	for name, all := range parts {
		whole, err := builder.MergeSpecsV3(all...)
		if err != nil {
			return nil, err
		}
		service.UpdateGroupVersion(name, whole)
	}
	return m, nil
}
