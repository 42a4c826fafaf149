// Package api is version v1alpha1 of the group samples.example.com, which both programs work on.
//
// +kubebuilder:object:generate=true
// +groupName=samples.example.com
// +versionName=v1alpha1
package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Foo asks for a Deployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FooSpec   `json:"spec"`
	Status FooStatus `json:"status,omitempty"`
}

// FooSpec is what is asked for.
type FooSpec struct {
	// DeploymentName is the name of the Deployment.
	DeploymentName string `json:"deploymentName"`
	// Replicas is the number of its Pods. Empty: what the server has as a default.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// FooStatus is what was found.
type FooStatus struct {
	// AvailableReplicas is the number of Pods that serve.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
}

// FooList is a list of Foos.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Foo `json:"items"`
}

// GroupVersion is what this package is about.
var GroupVersion = schema.GroupVersion{Group: "samples.example.com", Version: "v1alpha1"}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
