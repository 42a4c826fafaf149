package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/plugin/pkg/admission/certificates/approval"
	"k8s.io/kubernetes/plugin/pkg/admission/certificates/signing"
	"k8s.io/kubernetes/plugin/pkg/admission/certificates/subjectrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass"
	"k8s.io/kubernetes/plugin/pkg/admission/nodedeclaredfeatures"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
	"k8s.io/kubernetes/plugin/pkg/admission/podresize"
	"k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageclass/setdefault"
	"k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection"
)

// admissionChain is admission as the real server has it by default.
type admissionChain admission.Interface

// newAdmission returns the plugins in the order of the real server. A few are written in this package: they read
// objects of the call by the context, or replace what chance decides.
func newAdmission(a *api) (admissionChain, error) {
	known := admission.NewPlugins()
	order := []string{}
	var errs []error
	use := func(name string, plugin admission.Interface, err error) {
		errs = append(errs, err)
		known.Register(name, func(io.Reader) (admission.Interface, error) { return plugin, nil })
		order = append(order, name)
	}
	listed := func(name string, register func(*admission.Plugins)) {
		plugin, err := newLockedPlugin(name, register)
		use(name, plugin, err)
	}
	taint, err := newLockedPlugin(nodetaint.PluginName, nodetaint.Register)
	accounts, failed := newAccounts()
	sums, wrong := newQuotas(a)

	use("uids", uids{}, nil)
	use("NamespaceLifecycle", namespaces{}, nil)
	listed(limitranger.PluginName, limitranger.Register)
	use(serviceaccount.PluginName, accounts, failed)
	use(nodetaint.PluginName, ifControllers{taint, false}, err) // a controller would take the taint away
	listed(podsecurity.PluginName, podsecurity.Register)
	use("Priority", priorities{}, nil)
	listed(defaulttolerationseconds.PluginName, defaulttolerationseconds.Register)
	listed(setdefault.PluginName, setdefault.Register)
	listed(storageobjectinuseprotection.PluginName, storageobjectinuseprotection.Register)
	listed(resize.PluginName, resize.Register)
	listed(runtimeclass.PluginName, runtimeclass.Register)
	listed(approval.PluginName, approval.Register)
	listed(signing.PluginName, signing.Register)
	listed(subjectrestriction.PluginName, subjectrestriction.Register)
	listed(defaultingressclass.PluginName, defaultingressclass.Register)
	listed(podtopologylabels.PluginName, podtopologylabels.Register)
	listed(nodedeclaredfeatures.PluginName, nodedeclaredfeatures.Register)
	listed(podresize.PluginName, podresize.Register)
	use("MutatingAdmissionPolicy", newPolicies(a, true), nil)
	use("MutatingAdmissionWebhook", newWebhooks(mutates), nil)
	use("ValidatingAdmissionPolicy", newPolicies(a, false), nil)
	use("ValidatingAdmissionWebhook", newWebhooks(validates), nil)
	use("ResourceQuota", sums, wrong)
	use("names", names{}, nil)
	chain, err := known.NewFromPlugins(order, noConfig{}, gates{}, nil)
	return chain, errors.Join(append(errs, err)...)
}

// noConfig has no configuration of plugins.
type noConfig struct{}

func (noConfig) ConfigFor(string) (io.Reader, error) { return nil, nil }

// gates gives plugins the feature gates.
type gates struct{}

func (gates) Initialize(plugin admission.Interface) {
	if p, ok := plugin.(interface {
		InspectFeatureGates(featuregate.FeatureGate)
	}); ok {
		p.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	}
}

// prefixes of keys in the state.
const (
	namespaceKeys     = "/core/namespaces/"
	priorityClassKeys = "/scheduling.k8s.io/priorityclasses/"
)

// namespaces refuses objects in namespaces that do not exist, and new objects in namespaces that are being deleted.
type namespaces struct{}

func (namespaces) Handles(op admission.Operation) bool { return op != admission.Connect }

func (namespaces) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	isNamespace := a.GetKind().GroupKind() == core.Kind("Namespace")
	if isNamespace && a.GetOperation() == admission.Delete && slices.Contains([]string{"default", "kube-system", "kube-public"}, a.GetName()) {
		return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), fmt.Errorf("this namespace may not be deleted"))
	}
	if isNamespace || a.GetNamespace() == "" || a.GetOperation() == admission.Delete {
		return nil
	}
	text := callFrom(ctx).get(namespaceKeys + a.GetNamespace())
	if text == nil {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), a.GetNamespace())
	}
	if a.GetOperation() != admission.Create {
		return nil
	}
	var ns struct{ Status corev1.NamespaceStatus }
	if err := json.Unmarshal(text, &ns); err != nil {
		return apierrors.NewInternalError(err)
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err := admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	if status, ok := err.(*apierrors.StatusError); ok {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()), Field: "metadata.namespace"})
	}
	return err
}

// names gives generated names the suffix of the request.
type names struct{}

func (names) Handles(op admission.Operation) bool { return op == admission.Create }

func (names) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	o, err := meta.Accessor(a.GetObject())
	if err != nil || a.GetSubresource() != "" || o.GetName() != "" {
		return nil // it has no metadata, or a name
	}
	switch a.GetObject().(type) {
	case *core.LimitRange:
		if o.GetGenerateName() == "" { // it is named by a uuid
			id := sha256.Sum256([]byte(callFrom(ctx).req.UID))
			o.SetName(fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]))
		}
	case *networking.IPAddress:
		return nil // its name is never generated
	}
	if o.GetGenerateName() == "" {
		return nil
	}
	const longest = 58 // so that the name has 63 characters
	base := o.GetGenerateName()
	c := callFrom(ctx)
	c.generated = base[:min(len(base), longest)] + c.req.Suffix
	o.SetName(c.generated)
	return nil
}

// uids notes the uid that the handlers have chosen for a new object. See [call.replaceUID].
type uids struct{}

func (uids) Handles(op admission.Operation) bool { return op == admission.Create }

func (uids) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if o, err := meta.Accessor(a.GetObject()); err == nil && a.GetSubresource() == "" {
		callFrom(ctx).chosenUID = o.GetUID()
	}
	return nil
}

// priorities sets the priority of a Pod by its priority class.
type priorities struct{}

func (priorities) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

func (p priorities) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*core.Pod)
	if !ok || a.GetSubresource() != "" {
		return nil
	}
	if old, ok := a.GetOldObject().(*core.Pod); ok {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	class, err := p.class(ctx, a, pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	pod.Spec.PriorityClassName = class.Name
	if pod.Spec.Priority != nil && *pod.Spec.Priority != class.Value {
		return admission.NewForbidden(a, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, class.Value))
	}
	pod.Spec.Priority = &class.Value
	policy := core.PreemptLowerPriority
	if class.PreemptionPolicy != nil {
		policy = core.PreemptionPolicy(*class.PreemptionPolicy)
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return admission.NewForbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy))
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

// class returns the priority class with a name. For "" it is the default class, or the zero class if there is none.
func (priorities) class(ctx context.Context, a admission.Attributes, name string) (*schedulingv1.PriorityClass, error) {
	best := &schedulingv1.PriorityClass{}
	if name != "" {
		text := callFrom(ctx).get(priorityClassKeys + name)
		if text == nil {
			return nil, admission.NewForbidden(a, fmt.Errorf("no PriorityClass with name %v was found", name))
		}
		return best, runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, best)
	}
	for _, text := range callFrom(ctx).under(priorityClassKeys) {
		var c schedulingv1.PriorityClass
		if err := runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, &c); err != nil {
			return nil, err
		}
		if c.GlobalDefault && (best.Name == "" || c.Value < best.Value) {
			best = &c
		}
	}
	return best, nil
}
