package main

import (
	"net/http"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/version"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// openAPI are the schemas of all built-in types.
var openAPI = sync.OnceValue(func() *common.OpenAPIV3Config {
	namer := openapi.NewDefinitionNamer(legacyscheme.Scheme)
	config := server.DefaultOpenAPIV3Config(generated.GetOpenAPIDefinitions, namer)
	config.Info.Title, config.Info.Version = "Kubernetes", version.Get().Major+"."+version.Get().Minor
	config.CommonResponses = map[int]*spec3.Response{http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: "Unauthorized"}}}
	config.SecuritySchemes = spec3.SecuritySchemes{"BearerToken": {SecuritySchemeProps: spec3.SecuritySchemeProps{
		Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication"}}}
	return config
})

// metadataModels returns the schemas of metadata, which those of custom resources refer to.
var metadataModels = sync.OnceValues(func() (map[string]*spec.Schema, error) {
	return builder3.BuildOpenAPIDefinitionsForResources(openAPI(), util.GetCanonicalTypeName(&apiextensions.CustomResourceDefinition{}))
})

// lazyConverter converts objects of one group for managed fields. It parses the schemas on first use.
type lazyConverter struct {
	group group
	once  sync.Once
	inner managedfields.TypeConverter
	err   error
}

func (l *lazyConverter) converter() (managedfields.TypeConverter, error) {
	l.once.Do(func() {
		var names []string
		for _, v := range l.group.versions {
			gv := schema.GroupVersion{Group: l.group.name, Version: v.name}
			for _, storage := range v.storage {
				kind, err := endpoints.GetResourceKind(gv, storage, legacyscheme.Scheme)
				if err != nil {
					l.err = err
					return
				}
				sample, err := legacyscheme.Scheme.New(kind)
				if err != nil {
					l.err = err
					return
				}
				names = append(names, util.GetCanonicalTypeName(sample))
			}
		}
		schemas, err := builder3.BuildOpenAPIDefinitionsForResources(openAPI(), names...)
		if err != nil {
			l.err = err
			return
		}
		l.inner, l.err = managedfields.NewTypeConverter(schemas, false)
	})
	return l.inner, l.err
}

func (l *lazyConverter) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	c, err := l.converter()
	if err != nil {
		return nil, err
	}
	return c.ObjectToTyped(obj, opts...)
}

func (l *lazyConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	c, err := l.converter()
	if err != nil {
		return nil, err
	}
	return c.TypedToObject(value)
}
