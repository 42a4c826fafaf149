package v2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Alias is what the visitors of a guestbook sign with.
// +kubebuilder:validation:Enum=Phone;Address;Name
type Alias string

// The aliases.
const (
	Phone   Alias = "Phone"
	Address Alias = "Address"
	Name    Alias = "Name"
)

// GuestbookSpec is what the user of a Guestbook wants it to be.
type GuestbookSpec struct {
	// Size is how many Pods serve the guestbook, from 1 to 10. Defaults to 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +optional
	Size *int32 `json:"size,omitempty"`

	// Message greets the visitors. It is one line.
	// +kubebuilder:validation:MaxLength=280
	// +optional
	Message string `json:"message,omitempty"`

	// Alias is what visitors sign with. It cannot be changed. Defaults to Name.
	// +optional
	Alias Alias `json:"alias,omitempty"`

	// Image serves the guestbook. Defaults to a plain web server.
	// +optional
	Image Image `json:"image,omitzero"`
}

// Image names what a container runs. In version v1 it is one string, of 255 characters at most.
// +kubebuilder:validation:XValidation:rule="size(self.repository) + (has(self.tag) ? 1 + size(self.tag) : 0) + (has(self.digest) ? 1 + size(self.digest) : 0) <= 255",message="must have 255 characters at most, with one before the tag and one before the digest"
type Image struct {
	// Repository as in "shop.example.com/guestbook".
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-z0-9.-]+(:[0-9]+)?/)?[a-z0-9._-]+(/[a-z0-9._-]+)*$`
	Repository string `json:"repository"`

	// Tag as in "1.2".
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	// +optional
	Tag string `json:"tag,omitempty"`

	// Digest as in "sha256:" and 64 hexadecimal digits.
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
}

// GuestbookStatus is how a Guestbook is, as its controller saw it last.
type GuestbookStatus struct {
	// ObservedGeneration is the generation of the Guestbook that all of this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is how many Pods there are.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// ReadyReplicas is how many of them answer.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// Selector selects these Pods. It is for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Conditions say how the Guestbook is; Ready is True when all of its Pods answer.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Guestbook is a small web application, some Pods that serve it, and a Service in front of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=guestbooks,scope=Namespaced,shortName=gb,categories=webapps
// +kubebuilder:printcolumn:name=Size,type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Alias,type=string,JSONPath=`.spec.alias`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.spec.message`,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type Guestbook struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +optional
	Spec GuestbookSpec `json:"spec,omitzero"`
	// +optional
	Status GuestbookStatus `json:"status,omitzero"`
}

// GuestbookList is a list of guestbooks.
//
// +kubebuilder:object:root=true
type GuestbookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Guestbook `json:"items"`
}
