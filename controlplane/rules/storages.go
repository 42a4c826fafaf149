package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	mutatingpolicy "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy/storage"
	mutatingbinding "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding/storage"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	validatingpolicy "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy/storage"
	validatingbinding "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding/storage"
	"k8s.io/kubernetes/pkg/registry/authentication/selfsubjectreview"
	"k8s.io/kubernetes/pkg/registry/authentication/tokenreview"
	"k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectrulesreview"
	"k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"
	flowschema "k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema/storage"
	prioritylevel "k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration/storage"
	ipaddress "k8s.io/kubernetes/pkg/registry/networking/ipaddress/storage"
	servicecidr "k8s.io/kubernetes/pkg/registry/networking/servicecidr/storage"
	deviceclass "k8s.io/kubernetes/pkg/registry/resource/deviceclass/storage"
	resourceclaim "k8s.io/kubernetes/pkg/registry/resource/resourceclaim/storage"
	claimtemplate "k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate/storage"
	resourceslice "k8s.io/kubernetes/pkg/registry/resource/resourceslice/storage"

	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
)

// reviews returns the storages of the reviews of tokens and of access.
func (t *table) reviews() (authentication, authorization resources) {
	return resources{"tokenreviews": tokenreview.NewREST(authenticated{t.tokens}, audiences), "selfsubjectreviews": selfsubjectreview.NewREST()},
		resources{
			"subjectaccessreviews": subjectaccessreview.NewREST(mayDo), "selfsubjectaccessreviews": selfsubjectaccessreview.NewREST(mayDo),
			"localsubjectaccessreviews": localsubjectaccessreview.NewREST(mayDo), "selfsubjectrulesreviews": selfsubjectrulesreview.NewREST(mayDo),
		}
}

// policies returns the storages of admission policies and their bindings. Type policies evaluates them.
func (t *table) policies() resources {
	// The storages resolve kinds only for users who may not do everything.
	kinds := resolver.ResourceResolverFunc(func(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
		return schema.GroupVersionResource{}, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	})
	validating, status, err := validatingpolicy.NewREST(t, mayDo, kinds)
	t.fail(err)
	mutating, err := mutatingpolicy.NewREST(t, mayDo, kinds)
	t.fail(err)
	if t.err != nil {
		return nil
	}
	return resources{
		"validatingadmissionpolicies": validating, "validatingadmissionpolicies/status": status, "mutatingadmissionpolicies": mutating,
		"validatingadmissionpolicybindings": t.one(validatingbinding.NewREST(t, mayDo, &validatingbinding.DefaultPolicyGetter{Getter: validating}, kinds)),
		"mutatingadmissionpolicybindings":   t.one(mutatingbinding.NewREST(t, mayDo, &mutatingbinding.DefaultPolicyGetter{Getter: mutating}, kinds)),
	}
}

func (t *table) networks() resources {
	return join(t.two("servicecidrs")(servicecidr.NewREST(t)), resources{"ipaddresses": t.one(ipaddress.NewREST(t))})
}

func (t *table) flows() resources {
	return join(t.two("flowschemas")(flowschema.NewREST(t)), t.two("prioritylevelconfigurations")(prioritylevel.NewREST(t)))
}

func (t *table) devices() resources {
	return join(t.two("resourceclaims")(resourceclaim.NewREST(t, callNamespaces{}, mayDo)), resources{
		"deviceclasses": t.one(deviceclass.NewREST(t)), "resourceclaimtemplates": t.one(claimtemplate.NewREST(t, callNamespaces{})), "resourceslices": t.one(resourceslice.NewREST(t))})
}

// callNamespaces is the client for namespaces of the call in the context. Only Get works: its users need nothing
// else.
type callNamespaces struct {
	corev1client.NamespaceInterface
}

func (callNamespaces) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	text := callFrom(ctx).get(namespaceKeys + name)
	if text == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	ns := &corev1.Namespace{}
	return ns, runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, ns)
}
