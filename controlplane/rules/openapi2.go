package main

import (
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openAPI2Path is the path of the document of OpenAPI v2.
const openAPI2Path = "/openapi/v2"

// openAPI2 returns the handler of a document without definitions. Programs that read it leave validation to the server
// then. The documents of [openAPIPath] have the definitions.
var openAPI2 = sync.OnceValue(func() http.Handler {
	m := mux.NewPathRecorderMux("openapi")
	handler.NewOpenAPIService(&spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "unversioned"}},
		Paths: &spec.Paths{}, Definitions: spec.Definitions{},
	}}).RegisterOpenAPIVersionedService(openAPI2Path, m)
	return m
})
