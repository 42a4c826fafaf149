package corpus

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// start is the creation time of the corpus's cluster.
var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// at returns a time that differs for each object, in whole seconds as in the API.
func (g *maker) at(plus time.Duration) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(g.i%90_000)*time.Second + plus).Truncate(time.Second))
}

// meta returns the metadata of an object made by the owner's controller.
func (g *maker) meta(app string, owner *metav1.OwnerReference) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%s", app, word(g.r, 5)), Namespace: g.namespace(), UID: types.UID(uid(g.r)),
		CreationTimestamp: g.at(0), Generation: 1,
		Labels: map[string]string{"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "deployer"},
	}
	// Random suffixes may collide, so the number makes the name unique.
	m.Name = fmt.Sprintf("%s-%s%d", app, word(g.r, 3), g.i)
	if owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return m
}

// app returns the name of the owner's application.
func (g *maker) app() string { return fmt.Sprintf("app-%04d", g.owner) }

// replicaSet returns the owner of this object.
func (g *maker) replicaSet() (hash string, ref *metav1.OwnerReference) {
	hash = hex(g.shared, 10)
	yes := true
	return hash, &metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: g.app() + "-" + hash, UID: types.UID(uid(g.shared)), Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// managedFields returns the managedFields of an object of a Spec.
func (g *maker) managedFields(o Object) []metav1.ManagedFieldsEntry {
	managers := [2]string{"kube-controller-manager", "kubelet"}
	return managedFields(o, g.spec.GVK().GroupVersion().String(), managers, [2]metav1.Time{g.at(0), g.at(time.Duration(10+g.n) * time.Second)})
}

// managedFields assigns every field of the object to a manager: all but the status to the first, at
// the first time, and the status to the second.
func managedFields(o Object, apiVersion string, managers [2]string, at [2]metav1.Time) []metav1.ManagedFieldsEntry {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // an object of this package
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		panic(err)
	}
	meta, _ := all["metadata"].(map[string]any)
	spec := map[string]any{}
	status := map[string]any{}
	for name, v := range all {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			own := map[string]any{}
			for _, name := range []string{"labels", "annotations", "ownerReferences", "generateName"} {
				if v, ok := meta[name]; ok {
					own[name] = v
				}
			}
			spec["f:metadata"] = fieldSet(own)
		case "status":
			status["f:status"] = fieldSet(v)
		default:
			spec["f:"+name] = fieldSet(v)
		}
	}
	entry := func(manager, sub string, when metav1.Time, set map[string]any) metav1.ManagedFieldsEntry {
		b, err := json.Marshal(set)
		if err != nil {
			panic(err)
		}
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: apiVersion,
			Time: &when, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(b)), Subresource: sub,
		}
	}
	entries := []metav1.ManagedFieldsEntry{entry(managers[0], "", at[0], spec)}
	if len(status) > 0 {
		entries = append(entries, entry(managers[1], "status", at[1], status))
	}
	return entries
}

// fieldSet returns the fields of a value in the form of FieldsV1.
func fieldSet(v any) map[string]any {
	set := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for name, v := range v {
			set["f:"+name] = fieldSet(v)
		}
		if _, ok := v["containerStatuses"]; ok {
			set["f:containerStatuses"] = map[string]any{} // a list that is set as a whole
		}
	case []any:
		for _, v := range v {
			item, _ := v.(map[string]any)
			for _, key := range []string{"name", "type", "uid", "containerPort", "mountPath", "key", "ip"} {
				if k, ok := item[key]; ok {
					b, _ := json.Marshal(map[string]any{key: k})
					sub := fieldSet(item)
					sub["."] = map[string]any{}
					set["k:"+string(b)] = sub
					break
				}
			}
		}
	}
	return set
}
