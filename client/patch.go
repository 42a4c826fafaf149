package client

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/object"
)

// PatchData is a patch of an object. [JSONPatch], [MergePatch], [StrategicMerge], [Diff], [DiffWithLock]
// and [DiffStatus] make one. It is immutable. The zero value is no patch.
type PatchData struct {
	kind  types.PatchType
	data  []byte
	err   error
	lists *listChange // of a difference; nil: nothing can be lost
}

// Type returns the media type of the patch.
func (p PatchData) Type() types.PatchType { return p.kind }

// Bytes returns the patch as it is sent. Do not change it.
func (p PatchData) Bytes() []byte { return p.data }

// Err returns an [ArgumentError] if the patch could not be made, else nil. A write with the patch
// fails with that error.
func (p PatchData) Err() error { return p.err }

// Empty reports whether the patch changes nothing: it is an empty object or list. A DiffWithLock is
// never empty.
func (p PatchData) Empty() bool {
	b := bytes.TrimSpace(p.data)
	return p.err == nil && (len(b) == 0 || string(b) == "{}" || string(b) == "[]")
}

// JSONPatch makes a patch of a list of operations (RFC 6902): JSON as []byte, string or
// json.RawMessage, or a value that encodes to it.
func JSONPatch(operations any) PatchData { return newPatch(types.JSONPatchType, operations) }

// MergePatch makes a patch of a partial object (RFC 7386): JSON as []byte, string or json.RawMessage, or
// a value that encodes to it. A null removes the field. A list replaces the whole list.
func MergePatch(partial any) PatchData { return newPatch(types.MergePatchType, partial) }

// StrategicMerge makes a patch of a partial object: JSON as []byte, string or json.RawMessage, or a
// value that encodes to it. The server merges lists by the keys of their elements. Only built-in kinds
// support it.
func StrategicMerge(partial any) PatchData { return newPatch(types.StrategicMergePatchType, partial) }

// Diff makes the merge patch that turns before into after. It changes neither. The patch has no
// resourceVersion: the last writer wins. A merge patch cannot set a null inside free JSON, because null
// removes the field; use [Apply] or [Update] for that.
//
// A merge patch replaces a list as a whole. If the elements of a list have fields that the Go type does not have, a
// write through a [Live] client puts them back, as [Update] does. It may read the object for that. Where their
// place is not clear, the error is an [UnknownFieldsError] and nothing is sent.
func Diff(before, after object.Object) PatchData { return diff(before, after, sparse.Map, false) }

// DiffWithLock is [Diff] with an optimistic lock: the write fails with a [ConflictError] unless the
// object on the server has the resourceVersion of before.
func DiffWithLock(before, after object.Object) PatchData {
	return diff(before, after, sparse.Map, true)
}

// DiffStatus makes the merge patch that turns the status of before into that of after, with the lock of
// [DiffWithLock]. It is empty if the two do not differ. It has no other changes of after. It changes
// neither object.
func DiffStatus(before, after object.Object) PatchData {
	if p := diff(before, after, statusOf, false); p.Empty() || p.err != nil {
		return p
	}
	return diff(before, after, statusOf, true)
}

// statusOf is the JSON of an object, reduced to its status.
func statusOf(o any) (map[string]any, error) {
	whole, err := sparse.Map(o)
	status, ok := whole["status"].(map[string]any)
	if err != nil || !ok {
		return nil, err
	}
	return map[string]any{"status": status}, nil
}

func newPatch(kind types.PatchType, v any) PatchData {
	var data []byte
	switch v := v.(type) {
	case []byte:
		data = bytes.Clone(v)
	case json.RawMessage:
		data = bytes.Clone(v)
	case string:
		data = []byte(v)
	default:
		var err error
		if data, err = json.Marshal(v); err != nil {
			return badPatch(kind, err)
		}
	}
	if !utf8.Valid(data) {
		return badPatch(kind, errNotUTF8)
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return badPatch(kind, err)
	}
	return PatchData{kind: kind, data: data}
}

// badPatch is a patch that cannot be made or is not JSON.
func badPatch(kind types.PatchType, err error) PatchData {
	return PatchData{kind: kind, err: wrong("patch of type "+string(kind), err)}
}

// diff compares a part of both objects. With lock the patch has the resourceVersion of before.
func diff(before, after object.Object, part func(any) (map[string]any, error), lock bool) PatchData {
	fail := func(err error) PatchData { return badPatch(types.MergePatchType, err) }
	if isNil(before) || isNil(after) {
		return fail(errNilObject)
	}
	if err := checkText(after); err != nil {
		return fail(err)
	}
	a, err := part(before)
	if err != nil {
		return fail(err)
	}
	b, err := part(after)
	if err != nil {
		return fail(err)
	}
	patch := mergeDiff(a, b)
	meta, _ := patch["metadata"].(map[string]any)
	delete(meta, "resourceVersion")
	switch version := before.GetResourceVersion(); {
	case lock && version == "":
		return fail(errNoVersion)
	case lock && meta == nil:
		patch["metadata"] = map[string]any{"resourceVersion": version}
	case lock:
		meta["resourceVersion"] = version
	case meta != nil && len(meta) == 0:
		delete(patch, "metadata")
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return fail(err)
	}
	lists, err := newListChange(before, a, patch)
	if err != nil {
		return fail(err)
	}
	return PatchData{kind: types.MergePatchType, data: data, lists: lists}
}

// mergeDiff is the merge patch from a to b: fields that are new or different in b, and null for fields
// that b lacks.
func mergeDiff(a, b map[string]any) map[string]any {
	patch := map[string]any{}
	for k := range a {
		if _, ok := b[k]; !ok {
			patch[k] = nil
		}
	}
	for k, y := range b {
		x, had := a[k]
		xm, ok1 := x.(map[string]any)
		ym, ok2 := y.(map[string]any)
		switch {
		case ok1 && ok2:
			if sub := mergeDiff(xm, ym); len(sub) > 0 {
				patch[k] = sub
			}
		case !had || !reflect.DeepEqual(x, y):
			patch[k] = y
		}
	}
	return patch
}
