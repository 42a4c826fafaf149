package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	if len(managers) == 0 || slices.Contains(managers, "") {
		return false, &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "managers", Problem: "none, or one without a name: say from whom"}
	}
	return changeManagers(ctx, c, obj, owner, func(entries []metav1.ManagedFieldsEntry, version string) ([]metav1.ManagedFieldsEntry, bool, error) {
		return mergeManagers(entries, version, owner, managers)
	})
}

// MoveFields gives the managed fields of obj the API version that obj has, as if all managers had written in it. It is
// for an object whose apply fails with a [SchemaError] that says OtherVersion. It changes no field and no owner of a
// field. changed is false if all managed fields have that version.
//
// The paths of fields stay as they are. That is right for a kind whose versions differ in their fields alone: a custom
// resource definition without a conversion webhook. If a webhook renames a field, use it only if the webhook leaves
// fields that the other version does not have: the manager of the renamed field then loses it.
//
// MoveFields sends one patch for the version that it read, by owner, and acts on conflicts and on uids as [TakeOver]
// does.
func MoveFields(ctx context.Context, c Client, obj object.Object, owner string) (changed bool, err error) {
	return changeManagers(ctx, c, obj, owner, moveManagers)
}

// changeManagers changes the managed fields of an object by a function of its entries and of the API version of obj.
func changeManagers(ctx context.Context, c Client, obj object.Object, owner string, change managersChange) (changed bool, err error) {
	switch {
	case isNil(obj):
		return false, &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "Object", Problem: "is nil"}
	case owner == "":
		return false, &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "Owner", Problem: "is empty"}
	}
	gvk, err := kindOf(verbPatch, c.Scheme(), obj, schema.GroupVersionKind{})
	if err != nil {
		return false, err
	}
	for try := 1; ; try++ {
		changed, err = changeManagersOnce(ctx, c, gvk, obj, owner, change)
		if _, conflict := errors.AsType[*ConflictError](err); !conflict || try == maxTakeOvers {
			return changed, err
		}
	}
}

// managersChange returns the entries as they are to be, and whether they differ.
type managersChange func(entries []metav1.ManagedFieldsEntry, version string) ([]metav1.ManagedFieldsEntry, bool, error)

func changeManagersOnce(ctx context.Context, c Client, gvk schema.GroupVersionKind, obj object.Object, owner string, change managersChange) (bool, error) {
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
	entries, changed, err := change(live.GetManagedFields(), gvk.GroupVersion().String())
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

// moveManagers gives all entries of the group one version. Entries that then have one owner become one.
func moveManagers(entries []metav1.ManagedFieldsEntry, version string) ([]metav1.ManagedFieldsEntry, bool, error) {
	group, _, _ := strings.Cut(version, "/")
	var out []metav1.ManagedFieldsEntry
	moved := false
	for _, e := range entries {
		if strings.HasPrefix(e.APIVersion, group+"/") && e.APIVersion != version {
			e.APIVersion, moved = version, true
		}
		i := slices.IndexFunc(out, func(o metav1.ManagedFieldsEntry) bool {
			return o.Manager == e.Manager && o.Operation == e.Operation && o.Subresource == e.Subresource && o.APIVersion == e.APIVersion
		})
		if i < 0 {
			out = append(out, e)
			continue
		}
		var err error
		if out[i], err = joinEntries(out[i], e); err != nil {
			return nil, false, err
		}
	}
	return out, moved, nil
}

// joinEntries returns one entry, of the owner of the first, with the fields of all and the time of the last.
func joinEntries(first metav1.ManagedFieldsEntry, others ...metav1.ManagedFieldsEntry) (metav1.ManagedFieldsEntry, error) {
	fields := map[string]any{}
	for _, e := range append([]metav1.ManagedFieldsEntry{first}, others...) {
		if first.Time == nil || first.Time.Before(e.Time) {
			first.Time = e.Time
		}
		if e.FieldsV1 == nil {
			continue
		}
		set, err := fieldsv1.Parse(e.FieldsV1)
		if err != nil {
			return first, fmt.Errorf("managedFields of %s: %w", e.Manager, err)
		}
		mergeFields(fields, set)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return first, err
	}
	first.FieldsV1 = fieldsv1.New(string(data))
	return first, nil
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
	var out, merged []metav1.ManagedFieldsEntry
	took := false
	for _, e := range entries {
		if !ours(e) && !(theirs(e) && e.APIVersion == version) {
			out = append(out, e)
			continue
		}
		took = took || !ours(e)
		merged = append(merged, e)
	}
	if !took {
		return entries, false, nil
	}
	entry := metav1.ManagedFieldsEntry{Manager: owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1"}
	entry, err := joinEntries(entry, merged...)
	return append(out, entry), true, err
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
