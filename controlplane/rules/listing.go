package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	storagenames "k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/compatibility"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	nodev1client "k8s.io/client-go/kubernetes/typed/node/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// seat returns a real plugin whose listers show what the call sees whose turn it is.
func seat(name string, register func(*admission.Plugins)) (seated, error) {
	s := seated{turn: &turns{}}
	known := admission.NewPlugins()
	register(known)
	plugin, err := known.InitPlugin(name, nil, s)
	s.Interface = plugin
	return s, err
}

// Initialize gives a plugin what it asks for.
func (s seated) Initialize(plugin admission.Interface) {
	gates{}.Initialize(plugin)
	if p, ok := plugin.(initializer.WantsEffectiveVersion); ok {
		p.InspectEffectiveVersion(compatibility.DefaultBuildEffectiveVersion())
	}
	if p, ok := plugin.(initializer.WantsAuthorizer); ok {
		p.SetAuthorizer(authorizerfactory.NewAlwaysAllowAuthorizer())
	}
	if p, ok := plugin.(initializer.WantsExternalKubeClientSet); ok {
		p.SetExternalKubeClientSet(shownClient{turn: s.turn})
	}
	if p, ok := plugin.(initializer.WantsExternalKubeInformerFactory); ok {
		p.SetExternalKubeInformerFactory(shown{turn: s.turn})
	}
}

// when is a plugin that acts only if controllers run beside the server, or only if none do.
type when struct {
	admission.Interface
	controllers bool
}

func (w when) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if m, ok := w.Interface.(admission.MutationInterface); ok && callFrom(ctx).req.Controllers == w.controllers {
		return m.Admit(ctx, a, o)
	}
	return nil
}

func (w when) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if v, ok := w.Interface.(admission.ValidationInterface); ok && callFrom(ctx).req.Controllers == w.controllers {
		return v.Validate(ctx, a, o)
	}
	return nil
}

// newAccounts returns the plugin that gives Pods their account and its token.
func newAccounts() (admission.Interface, error) {
	usual := storagenames.SimpleNameGenerator
	defer func() { storagenames.SimpleNameGenerator = usual }()
	s := seated{turn: &turns{}}
	storagenames.SimpleNameGenerator = volumeNames{s.turn}
	plugin := serviceaccount.NewServiceAccount() // it keeps the generator
	s.Initialize(plugin)
	s.Interface = plugin
	return when{s, true}, plugin.ValidateInitialization()
}

// volumeNames makes the name of the volume of a Pod's token from what the call generates names of.
type volumeNames struct{ turn *turns }

func (v volumeNames) GenerateName(base string) string { return base + v.turn.call.req.Suffix }

// shownAccounts finds no account that a lister does not show, but the default one: its controller is about to
// make it.
type shownAccounts struct {
	corev1client.ServiceAccountInterface // not used
	namespace                            string
}

func (c shownCore) ServiceAccounts(namespace string) corev1client.ServiceAccountInterface {
	return shownAccounts{namespace: namespace}
}

func (s shownAccounts) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ServiceAccount, error) {
	if name == serviceaccount.DefaultServiceAccountName {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}}, nil
	}
	// A NotFound would be asked again, after a while.
	return nil, fmt.Errorf("serviceaccount %q not found", name)
}

// shownLimits finds no limits that a lister does not show.
type shownLimits struct {
	corev1client.LimitRangeInterface // not used
}

func (shownCore) LimitRanges(string) corev1client.LimitRangeInterface { return shownLimits{} }

func (shownLimits) List(context.Context, metav1.ListOptions) (*corev1.LimitRangeList, error) {
	return &corev1.LimitRangeList{}, nil
}

// shownRuntimes finds no runtime class that a lister does not show.
type shownRuntimes struct {
	nodev1client.NodeV1Interface       // not used
	nodev1client.RuntimeClassInterface // not used
}

func (shownClient) NodeV1() nodev1client.NodeV1Interface { return shownRuntimes{} }

func (r shownRuntimes) RuntimeClasses() nodev1client.RuntimeClassInterface { return r }

func (shownRuntimes) Get(_ context.Context, name string, _ metav1.GetOptions) (*nodev1.RuntimeClass, error) {
	return nil, apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)
}
