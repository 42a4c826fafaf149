package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/object"
)

// maxTakeOvers is how often TakeOver reads an object that others change at the same time.
const maxTakeOvers = 5

// TakeOver gives owner the fields that managers own by creates, updates and patches, as if owner had
// applied them. The next [Apply] of owner then removes those that it does not set. It is for a program
// that wrote whole objects, as one of managers, and changes to applies: without it such fields stay for
// ever. changed is false if there was nothing to take over.
//
// TakeOver changes only metadata.managedFields, by one patch for the version that it read. After a
// conflict it reads the object again, up to five times in all. It reads the kind, the key and the uid of
// obj. If obj has a uid and the server has another object of that name, the error is a [ConflictError].
//
// Fields of subresources keep their owners. So do fields that were written in another API version than
// those of owner.
func TakeOver(ctx context.Context, c Client, obj object.Object, owner string, managers ...string) (changed bool, err error) {
	switch {
	case isNil(obj):
		return false, &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "Object", Problem: "is nil"}
	case owner == "":
		return false, &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "Owner", Problem: "is empty"}
	case len(managers) == 0 || slices.Contains(managers, ""):
		return false, &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "managers", Problem: "none, or one without a name: say from whom"}
	}
	gvk, err := kindOf(verbPatch, c.Scheme(), obj, schema.GroupVersionKind{})
	if err != nil {
		return false, err
	}
	for try := 1; ; try++ {
		changed, err = takeOver(ctx, c, gvk, obj, owner, managers)
		if _, conflict := errors.AsType[*ConflictError](err); !conflict || try == maxTakeOvers {
			return changed, err
		}
	}
}

func takeOver(ctx context.Context, c Client, gvk schema.GroupVersionKind, obj object.Object, owner string, managers []string) (bool, error) {
	key := object.KeyOf(obj)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	if err := c.Get(ctx, key, live, GetOptions{Live: true}); err != nil {
		return false, err
	}
	if uid := obj.GetUID(); uid != "" && uid != live.GetUID() {
		s := metav1.Status{Status: metav1.StatusFailure, Code: 409, Reason: metav1.StatusReasonConflict, Message: "the object is another one by now"}
		return false, &ConflictError{RequestError: RequestError{Call: Call{Verb: verbPatch, Kind: gvk.Kind, Key: key}, status: s}}
	}
	entries, changed, err := mergeManagers(live.GetManagedFields(), gvk.GroupVersion().String(), owner, managers)
	if err != nil || !changed {
		return false, err
	}
	patch := JSONPatch([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	_, err = c.Write(ctx, Op{Verb: verbPatch, Object: live, Patch: patch, Owner: owner})
	return err == nil, err
}

// mergeManagers moves the fields from the update entries of managers into the apply entry of owner. If
// owner has no entry, it makes one, of version if managers have an entry of that version, else of the
// version of their first.
func mergeManagers(entries []metav1.ManagedFieldsEntry, version, owner string, managers []string) ([]metav1.ManagedFieldsEntry, bool, error) {
	ours := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == owner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	}
	theirs := func(e metav1.ManagedFieldsEntry) bool {
		return slices.Contains(managers, e.Manager) && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" && e.FieldsV1 != nil
	}
	for _, sets := range []func(metav1.ManagedFieldsEntry) bool{
		theirs, func(e metav1.ManagedFieldsEntry) bool { return theirs(e) && e.APIVersion == version }, ours,
	} { // the last that has an entry says the version
		if i := slices.IndexFunc(entries, sets); i >= 0 {
			version = entries[i].APIVersion
		}
	}
	merged := metav1.ManagedFieldsEntry{Manager: owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1"}
	fields := map[string]any{}
	var out []metav1.ManagedFieldsEntry
	took := false
	for _, e := range entries {
		if !ours(e) && !(theirs(e) && e.APIVersion == version) {
			out = append(out, e)
			continue
		}
		took = took || !ours(e)
		if merged.Time == nil || merged.Time.Before(e.Time) {
			merged.Time = e.Time
		}
		if e.FieldsV1 == nil {
			continue
		}
		set, err := fieldsv1.Parse(e.FieldsV1)
		if err != nil {
			return nil, false, fmt.Errorf("managedFields of %s: %w", e.Manager, err)
		}
		mergeFields(fields, set)
	}
	if !took {
		return entries, false, nil
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, false, err
	}
	merged.FieldsV1 = fieldsv1.New(string(data))
	return append(out, merged), true, nil
}

// mergeFields adds one set of fields, in the form of managedFields, to another. If one set has a field
// as a whole and the other has fields below it, the result has both.
func mergeFields(into, from map[string]any) {
	for k, v := range from {
		sub, _ := v.(map[string]any)
		have, ok := into[k].(map[string]any)
		switch {
		case !ok:
			have = map[string]any{}
			into[k] = have
		case (len(have) == 0) != (len(sub) == 0):
			have["."] = map[string]any{}
		}
		mergeFields(have, sub)
	}
}
