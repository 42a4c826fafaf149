package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
)

// revisionData returns the data of the revision of a StatefulSet or DaemonSet: a patch that restores the template. It
// is made of the stored text, and so keeps fields that this program does not know.
func revisionData(stored []byte) ([]byte, error) {
	var o struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(stored, &o); err != nil {
		return nil, err
	}
	if o.Spec.Template == nil {
		return nil, fmt.Errorf("spec.template: there is none")
	}
	o.Spec.Template["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": o.Spec.Template}})
}

// templateOf returns the template in a revision.
func templateOf(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var o struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Data.Raw, &o); err != nil {
		return nil, fmt.Errorf("the data of ControllerRevision %s/%s: %w", r.Namespace, r.Name, err)
	}
	return &o.Spec.Template, nil
}

// newRevision returns a new revision with the owner's template.
func newRevision(o owner, template *corev1.PodTemplateSpec, data []byte, number int64, collisions int32) *appsv1.ControllerRevision {
	hash := hashRevision(data, collisions)
	labels := map[string]string{}
	for k, v := range template.Labels {
		labels[k] = v
	}
	labels["controller.kubernetes.io/hash"] = hash
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: prefix(o.GetName(), 223) + "-" + hash, Namespace: o.GetNamespace(), Labels: labels, Annotations: o.GetAnnotations(),
			OwnerReferences: []metav1.OwnerReference{controllerRef(o)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
}

// hashRevision returns the hash in the name of a StatefulSet's revision.
func hashRevision(data []byte, collisions int32) string {
	h := fnv.New32()
	_, _ = h.Write(data) // a hash never fails
	_, _ = h.Write([]byte(strconv.Itoa(int(collisions))))
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

func prefix(name string, length int) string { return name[:min(len(name), length)] }

func sortRevisions(revisions []*appsv1.ControllerRevision) {
	slices.SortStableFunc(revisions, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// equalRevision returns the last of the sorted revisions that has the data, and whether it is the last of all.
func equalRevision(revisions []*appsv1.ControllerRevision, data []byte) (found *appsv1.ControllerRevision, newest bool) {
	for i, r := range slices.Backward(revisions) {
		if bytes.Equal(r.Data.Raw, data) {
			return r, i == len(revisions)-1
		}
	}
	return nil, false
}
