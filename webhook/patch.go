package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"gomodules.xyz/jsonpatch/v2"
)

// diff returns the JSON patch that makes the change from before to after in raw. It returns nil if
// nothing changed. All three must be JSON documents.
//
//	raw ──decode──► T ──encode──► before ──┐
//	                │  Default             ├── merge ──► the wanted document ──► patch of raw
//	                ▼                      │
//	                T ──encode──► after ───┘
//
// before and raw differ in three ways: raw has fields that T does not know, encoding adds fields to
// before, and some values are written differently. The patch contains none of these differences. It
// contains only the differences between before and after.
func diff(before, raw, after []byte) ([]byte, error) {
	var docs [3]any
	for i, text := range [][]byte{before, raw, after} {
		var err error
		if docs[i], err = decode(text); err != nil {
			return nil, err
		}
	}
	var want bytes.Buffer
	if err := encode(&want, merge(docs[0], docs[1], docs[2], 0)); err != nil {
		return nil, err
	}
	ops, err := jsonpatch.CreatePatch(raw, want.Bytes())
	if err != nil || len(ops) == 0 {
		return nil, err
	}
	return json.Marshal(ops)
}

// decode returns a JSON document as a value. Numbers keep their digits.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = fmt.Errorf("there is more than one value, at byte %d", d.InputOffset())
		}
	}
	return v, err
}

// maxDepth is the depth from which values are replaced as a whole. Go types do not nest as deeply.
const maxDepth = 50

// absent is a value that is not there.
type absent struct{}

// merge returns what raw becomes when before changes to after. before and raw may be absent.
func merge(before, raw, after any, depth int) any {
	if raw != (any)(absent{}) && reflect.DeepEqual(before, after) {
		return raw
	}
	if depth == maxDepth {
		return after
	}
	switch after := after.(type) {
	case map[string]any:
		b, isObject := before.(map[string]any)
		r, hasObject := raw.(map[string]any)
		none := before == (any)(absent{})
		if (isObject || none) && (hasObject || !none && (raw == nil || raw == (any)(absent{}))) {
			return mergeObject(b, r, after, depth)
		}
	case []any:
		b, isList := before.([]any)
		r, hasList := raw.([]any)
		if isList && hasList && len(b) == len(r) {
			out := make([]any, len(after))
			for i, from := range match(b, after) {
				if out[i] = after[i]; from >= 0 {
					out[i] = merge(b[from], r[from], after[i], depth+1)
				}
			}
			return out
		}
	}
	return after
}

func mergeObject(before, raw, after map[string]any, depth int) map[string]any {
	member := func(of map[string]any, name string) any {
		if v, ok := of[name]; ok {
			return v
		}
		return absent{}
	}
	out := make(map[string]any, len(after))
	for name, r := range raw {
		if a, ok := after[name]; ok {
			out[name] = merge(member(before, name), r, a, depth+1)
		} else if _, known := before[name]; !known {
			out[name] = r
		}
	}
	for name, a := range after {
		b := member(before, name)
		if _, ok := raw[name]; ok || reflect.DeepEqual(b, a) { // encoding alone added it
			continue
		}
		m := merge(b, absent{}, a, depth+1)
		if o, ok := m.(map[string]any); !ok || len(o) > 0 || reflect.DeepEqual(a, m) {
			out[name] = m
		}
	}
	return out
}

// identities are the members that identify an element of a list, most specific first. They decide
// only which old element a new element continues. An element's unknown fields then stay with it.
var identities = []string{"name", "key", "uid", "id", "type", "mountPath", "containerPort", "port", "ip"}

func identity(v any) string {
	o, _ := v.(map[string]any)
	for _, name := range identities {
		switch id := o[name].(type) {
		case string, json.Number:
			return fmt.Sprint(name, "=", id)
		}
	}
	return ""
}

func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// match returns, for each new element, the index of the old element that it continues, or -1.
func match(old, now []any) []int {
	from := make([]int, len(now))
	used := make([]bool, len(old))
	for i := range now {
		if from[i] = -1; i < len(old) && reflect.DeepEqual(old[i], now[i]) {
			from[i], used[i] = i, true
		}
	}
	pair(old, now, from, used, encoded)
	pair(old, now, from, used, identity)
	for i := range now {
		// An element without an identity was changed in place.
		if from[i] < 0 && i < len(old) && !used[i] && (identity(old[i]) == "" || identity(now[i]) == "") {
			from[i], used[i] = i, true
		}
	}
	return from
}

// pair pairs the unpaired elements that have equal non-empty keys, in order.
func pair(old, now []any, from []int, used []bool, key func(any) string) {
	byKey := map[string][]int{}
	for f, v := range old {
		if !used[f] {
			if k := key(v); k != "" {
				byKey[k] = append(byKey[k], f)
			}
		}
	}
	if len(byKey) == 0 {
		return
	}
	for i, v := range now {
		if from[i] < 0 {
			if k := key(v); len(byKey[k]) > 0 {
				from[i], byKey[k] = byKey[k][0], byKey[k][1:]
				used[from[i]] = true
			}
		}
	}
}
