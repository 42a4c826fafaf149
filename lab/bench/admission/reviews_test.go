package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// review returns the body of a call of the API server.
func review(t testing.TB, op admissionv1.Operation, gvk metav1.GroupVersionKind, resource string, obj, old any) []byte {
	t.Helper()
	raw := func(o any) (r runtime.RawExtension) {
		if o == nil {
			return r
		}
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: b}
	}
	gvr := metav1.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: resource}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID("705ab4f5-6393-11e8-b7cc-42010a800002"), Kind: gvk, Resource: gvr,
			RequestKind: &gvk, RequestResource: &gvr, Namespace: "web", Name: "shop", Operation: op,
			UserInfo: authenticationv1.UserInfo{Username: "system:serviceaccount:web:deployer", Groups: []string{"system:serviceaccounts", "system:authenticated"}},
			Object:   raw(obj), OldObject: raw(old),
			Options: runtime.RawExtension{Raw: []byte(`{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}`)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

var deploymentKind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// deployment returns an object of about 5 kB as the API server sends it, managedFields included.
func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "shop", "app.kubernetes.io/part-of": "web"}
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop", Namespace: "web", Labels: labels, Annotations: map[string]string{"example.org/note": strings.Repeat("n", 300)},
			UID: "0b7a2f0c-3d4b-4a8e-9c3e-9f3f6c1f8a55", ResourceVersion: "123456", Generation: 3,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}
	for i := range 3 {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: "registry.example.org/shop/server:1.2.3", Args: []string{"--listen=:8080", "--verbose"},
			Env:   []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop"}, {Name: "data", MountPath: "/data"}},
		})
	}
	fields := `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{".":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c0\"}":{".":{},"f:args":{},"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},"f:ports":{},"f:resources":{},"f:volumeMounts":{}}}}}}}`
	for _, manager := range []string{"kubectl-client-side-apply", "deployer"} {
		d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)})
	}
	return d
}

var configMapKind = metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// configMap returns an object of about 100 kB.
func configMap(note string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "web", UID: "0b7a2f0c-3d4b-4a8e-9c3e-9f3f6c1f8a55", ResourceVersion: "7"},
		Data:       map[string]string{"note": note},
	}
	for i := range 50 {
		c.Data[fmt.Sprint("file-", i)] = strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 120)
	}
	return c
}
