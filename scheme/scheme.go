// Package scheme provides the Go types of the built-in kinds. [New] returns a *runtime.Scheme with
// the stable versions (v1, v2) of every group of k8s.io/api that its oldest supported version has. It
// also has the kinds of the meta API: Status, Table, PartialObjectMetadata and the request options.
//
// A scheme belongs to its caller, who may add the types of custom resources before its first use.
// Alpha and beta versions are added in the same way, each with its own AddToScheme. Most programs use
// none. All of them would add 8 MB to the binary of each program and 5 MB to its memory; see ADR
// 12.
//
// The package does not use k8s.io/client-go/kubernetes/scheme. That is one global value, which
// every library of a program writes to. It adds groups while packages load, and it comes with
// codecs that this project does not need.
package scheme

import (
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtin registers the stable kinds of k8s.io/api. A test fails if a group version is missing.
var builtin = runtime.SchemeBuilder{
	admissionv1.AddToScheme,
	admissionregistrationv1.AddToScheme,
	apidiscoveryv2.AddToScheme,
	appsv1.AddToScheme,
	authenticationv1.AddToScheme,
	authorizationv1.AddToScheme,
	autoscalingv1.AddToScheme,
	autoscalingv2.AddToScheme,
	batchv1.AddToScheme,
	certificatesv1.AddToScheme,
	coordinationv1.AddToScheme,
	corev1.AddToScheme,
	discoveryv1.AddToScheme,
	eventsv1.AddToScheme,
	flowcontrolv1.AddToScheme,
	networkingv1.AddToScheme,
	nodev1.AddToScheme,
	policyv1.AddToScheme,
	rbacv1.AddToScheme,
	resourcev1.AddToScheme,
	schedulingv1.AddToScheme,
	storagev1.AddToScheme,
}

// New returns a scheme of the built-in kinds in their stable versions. It belongs to the caller,
// who may add types to it. Once others read it, it must not change: a scheme has no lock.
func New() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(s); err != nil {
		panic("scheme: " + err.Error())
	}
	if err := builtin.AddToScheme(s); err != nil {
		panic("scheme: " + err.Error())
	}
	return s
}
