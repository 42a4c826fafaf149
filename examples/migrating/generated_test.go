package samples

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	versioned "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/internalinterfaces"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/adapter/clientgo"
	"github.com/flyball-io/flyball/test/servertest"
)

// crdFactory is the SharedInformerFactory that informer-gen has generated for a clientset, over packed informers. Start,
// Shutdown, WaitForCacheSync and InformerFor are those of Typed. A method for each group, and ForResource, have result
// types of the generated package, and are written here.
type crdFactory struct {
	*clientgo.Typed[internalinterfaces.NewInformerFunc, clientset.Interface]
}

var _ externalversions.SharedInformerFactory = crdFactory{}

func newCRDFactory(cfg *rest.Config) (externalversions.SharedInformerFactory, error) {
	f, err := clientgo.NewSharedInformerFactory(cfg, 0, clientgo.WithScheme(versioned.Scheme))
	if err != nil {
		return nil, err
	}
	of, err := clientgo.Of[internalinterfaces.NewInformerFunc](f, clientset.NewForConfig)
	return crdFactory{of}, err
}

func (f crdFactory) Apiextensions() apiextensions.Interface {
	return apiextensions.New(f, f.Namespace(), nil)
}

func (f crdFactory) ForResource(r schema.GroupVersionResource) (externalversions.GenericInformer, error) {
	return f.Typed.ForResource(r)
}

// A program that takes the generated interface gets packed informers by it, as the adapter's guide says.
func TestGeneratedFactory(t *testing.T) {
	cfg := servertest.Shared(t).RESTConfig()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	c, err := clientset.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const name = "lathes.generated.example.com"
	definitions := c.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "generated.example.com", Scope: apiextensionsv1.ClusterScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "lathes", Kind: "Lathe"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	factory, err := newCRDFactory(cfg)
	if err != nil {
		t.Fatal(err)
	}
	crds := factory.Apiextensions().V1().CustomResourceDefinitions()
	generic, err := factory.ForResource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := clientgo.From(crds.Informer())
	if other, _ := clientgo.From(generic.Informer()); one == nil || other != one {
		t.Fatalf("the informers are %p and %p, and must be one that is packed", one, other)
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer cancel()
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		t.Fatal(err)
	}
	if crd, err := crds.Lister().Get(name); err != nil || crd.Spec.Names.Kind != "Lathe" {
		t.Errorf("%+v, %v", crd, err)
	}
	if all, err := generic.Lister().List(labels.Everything()); err != nil || len(all) == 0 {
		t.Errorf("%d, %v", len(all), err)
	}
}
