package main

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	storagenames "k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// lockedPlugin is a real admission plugin for one call at a time. It reads objects by listers and clients, which get
// no context: they take the call from the lock. The plugin never waits for anything outside of the call.
type lockedPlugin struct {
	admission.Interface
	lock *callLock
}

var (
	_ admission.MutationInterface   = lockedPlugin{}
	_ admission.ValidationInterface = lockedPlugin{}
)

func (s lockedPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	m, ok := s.Interface.(admission.MutationInterface)
	if !ok {
		return nil
	}
	defer s.lock.acquire(callFrom(ctx))()
	return m.Admit(ctx, a, o)
}

func (s lockedPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	v, ok := s.Interface.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	defer s.lock.acquire(callFrom(ctx))()
	return v.Validate(ctx, a, o)
}

// newLockedPlugin returns the real plugin with a name, over the objects of the call that holds its lock.
func newLockedPlugin(name string, register func(*admission.Plugins)) (lockedPlugin, error) {
	s := lockedPlugin{lock: &callLock{}}
	known := admission.NewPlugins()
	register(known)
	plugin, err := known.InitPlugin(name, nil, s)
	s.Interface = plugin
	return s, err
}

// Initialize gives a plugin the feature gates, authorizer, client and informers that it wants.
func (s lockedPlugin) Initialize(plugin admission.Interface) {
	gates{}.Initialize(plugin)
	if p, ok := plugin.(initializer.WantsEffectiveVersion); ok {
		p.InspectEffectiveVersion(compatibility.DefaultBuildEffectiveVersion())
	}
	if p, ok := plugin.(initializer.WantsAuthorizer); ok {
		p.SetAuthorizer(mayDo)
	}
	if p, ok := plugin.(initializer.WantsExternalKubeClientSet); ok {
		p.SetExternalKubeClientSet(lockedClient{lock: s.lock})
	}
	if p, ok := plugin.(initializer.WantsExternalKubeInformerFactory); ok {
		p.SetExternalKubeInformerFactory(lockedInformers{lock: s.lock})
	}
}

// ifControllers is a plugin that acts only if controllers run beside the server or, with controllers false, only if
// none do.
type ifControllers struct {
	admission.Interface
	controllers bool
}

func (w ifControllers) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if m, ok := w.Interface.(admission.MutationInterface); ok && callFrom(ctx).req.Controllers == w.controllers {
		return m.Admit(ctx, a, o)
	}
	return nil
}

func (w ifControllers) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if v, ok := w.Interface.(admission.ValidationInterface); ok && callFrom(ctx).req.Controllers == w.controllers {
		return v.Validate(ctx, a, o)
	}
	return nil
}

// newAccounts returns the plugin that gives each Pod a service account and a volume with its token. It acts only
// beside controllers.
func newAccounts() (admission.Interface, error) {
	usual := storagenames.SimpleNameGenerator
	defer func() { storagenames.SimpleNameGenerator = usual }()
	s := lockedPlugin{lock: &callLock{}}
	storagenames.SimpleNameGenerator = volumeNames{s.lock}
	plugin := serviceaccount.NewServiceAccount() // the plugin keeps this generator of names
	s.Initialize(plugin)
	s.Interface = plugin
	return ifControllers{s, true}, plugin.ValidateInitialization()
}

// volumeNames generates the names of token volumes with the suffix of the call.
type volumeNames struct{ lock *callLock }

func (v volumeNames) GenerateName(base string) string { return base + v.lock.call.req.Suffix }
