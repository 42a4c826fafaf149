package main

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/openapi"
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
	config := &common.OpenAPIV3Config{
		Info: &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes"}}, GetDefinitionName: namer.GetDefinitionName,
		DefaultResponse: &spec3.Response{}, GetDefinitions: generated.GetOpenAPIDefinitions,
	}
	config.Definitions = generated.GetOpenAPIDefinitions(func(name string) spec.Ref {
		name, _ = config.GetDefinitionName(name)
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
	})
	return config
})

// lazyConverter converts objects of a group for managed fields. It reads the schemas on first use.
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
