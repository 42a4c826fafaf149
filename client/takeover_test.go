package client

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/fieldsv1"
)

// The applier gets the fields of the updates of the named managers. Fields of other managers, of
// subresources and of other versions keep their owners.
func TestTakeOverMovesTheFieldsOfManagers(t *testing.T) {
	entry := func(manager, op, version, sub, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(op), APIVersion: version, Subresource: sub, FieldsType: "FieldsV1", FieldsV1: fieldsv1.New(fields)}
	}
	const update, apply = "Update", "Apply"
	for name, tc := range map[string]struct {
		in     []metav1.ManagedFieldsEntry
		fields string // ours afterwards; empty: nothing was taken over
		left   int
	}{
		"none":               {nil, "", 0},
		"of others":          {[]metav1.ManagedFieldsEntry{entry("kubectl", update, "v1", "", `{"f:a":{}}`)}, "", 1},
		"the first":          {[]metav1.ManagedFieldsEntry{entry("manager", update, "v1", "", `{"f:a":{}}`)}, `{"f:a":{}}`, 1},
		"to what is applied": {[]metav1.ManagedFieldsEntry{entry("us", apply, "v1", "", `{"f:b":{}}`), entry("manager", update, "v1", "", `{"f:a":{}}`)}, `{"f:a":{},"f:b":{}}`, 1},
		"of two":             {[]metav1.ManagedFieldsEntry{entry("manager", update, "v1", "", `{"f:a":{"f:x":{}}}`), entry("old", update, "v1", "", `{"f:a":{"f:y":{}}}`)}, `{"f:a":{"f:x":{},"f:y":{}}}`, 1},
		"whole and below":    {[]metav1.ManagedFieldsEntry{entry("us", apply, "v1", "", `{"f:a":{}}`), entry("manager", update, "v1", "", `{"f:a":{"f:x":{}}}`)}, `{"f:a":{".":{},"f:x":{}}}`, 1},
		"below and whole":    {[]metav1.ManagedFieldsEntry{entry("us", apply, "v1", "", `{"f:a":{"f:x":{}}}`), entry("manager", update, "v1", "", `{"f:a":{}}`)}, `{"f:a":{".":{},"f:x":{}}}`, 1},
		"of the status":      {[]metav1.ManagedFieldsEntry{entry("manager", update, "v1", "status", `{"f:status":{}}`)}, "", 1},
		"another version":    {[]metav1.ManagedFieldsEntry{entry("us", apply, "v1", "", `{"f:a":{}}`), entry("manager", update, "v1beta1", "", `{"f:b":{}}`)}, "", 2},
		"its version alone":  {[]metav1.ManagedFieldsEntry{entry("manager", update, "v1beta1", "", `{"f:b":{}}`)}, `{"f:b":{}}`, 1},
		"an apply of theirs": {[]metav1.ManagedFieldsEntry{entry("manager", apply, "v1", "", `{"f:a":{}}`)}, "", 1},
	} {
		got, changed, err := mergeManagers(tc.in, "v1", "us", []string{"manager", "old"})
		if err != nil || changed != (tc.fields != "") || len(got) != tc.left {
			t.Errorf("%s: %v, %v, %v", name, got, changed, err)
			continue
		}
		if !changed {
			continue
		}
		last := got[len(got)-1]
		if fields, _ := last.FieldsV1.MarshalJSON(); string(fields) != tc.fields || last.Manager != "us" || last.Operation != apply {
			t.Errorf("%s: %s of %s, want %s", name, fields, last.Manager, tc.fields)
		}
	}
}
