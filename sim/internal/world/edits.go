package world

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
)

// edits meets the faults of objects at rest: each field that a program has written may be changed by somebody else.
func (w *world) edits() error {
	if w.c.Corrects == nil {
		return nil
	}
	edited := false
	for o := range w.state.Now().All("/") {
		if !w.c.Corrects(o.Key) || leaves(o) {
			continue
		}
		_, fields := fieldsOf(o, w.managers)
		for n, f := range fields {
			at := plan.Point{Step: w.step, Verb: "rest", Object: judge.Name(o.Key), Nth: n + 1}
			w.out.Points = append(w.out.Points, at)
			if w.fault(at) != nil {
				w.edit(o.Key, f.path)
				edited = true
			}
		}
	}
	if !edited {
		return nil
	}
	w.wrote = time.Now()
	return w.settle()
}

// edit lets somebody else write another value into a field, the first one that the server accepts.
func (w *world) edit(key, path string) {
	doc, fields := fieldsOf(w.state.Now().Get(key), w.managers)
	i := slices.IndexFunc(fields, func(f field) bool { return f.path == path })
	if i < 0 {
		return // another edit has taken it away
	}
	code := 0
	for _, v := range others(fields[i].value) {
		fields[i].set(v)
		body, err := json.Marshal(doc)
		if err != nil {
			panic(err) // it was JSON
		}
		if code = w.somebody(http.MethodPut, urlOf(key, fmt.Sprint(doc["apiVersion"])), "application/json", body); code < 300 {
			break
		}
	}
	w.log(laneFault, "somebody else changes %s of %s → %d", path, judge.Name(key), code)
}

// urlOf returns the address of an object of a version.
func urlOf(key, apiVersion string) string {
	parts := strings.Split(strings.TrimPrefix(key, "/"), "/") // group, resource, and the namespace if there is one, name
	out := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		out = "/api/" + apiVersion
	}
	if len(parts) == 4 {
		out += "/namespaces/" + parts[2]
	}
	return out + "/" + parts[1] + "/" + parts[len(parts)-1]
}

// managerOf returns the name under which the server notes what a request writes.
func managerOf(r core.Request) string {
	if u, err := url.Parse(r.URL); err == nil && u.Query().Get("fieldManager") != "" {
		return u.Query().Get("fieldManager")
	}
	name, _, _ := strings.Cut(r.UserAgent, "/")
	return name
}

// field is a number, a text or a boolean in an object.
type field struct {
	path  string
	value any
	set   func(any) // changes it in the object
}

// fieldsOf returns an object, and the fields of it that managers have written, but for its status, owners and finalizers.
// An object, list or map that has one manager as a whole counts as its first field.
func fieldsOf(o *core.Object, managers map[string]bool) (doc map[string]any, out []field) {
	var meta struct {
		Metadata struct {
			ManagedFields []struct {
				Manager, Subresource string
				FieldsV1             map[string]any
			}
		}
	}
	if json.Unmarshal(o.JSON, &meta) != nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(o.JSON))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return nil, nil
	}
	for _, m := range meta.Metadata.ManagedFields {
		if !managers[m.Manager] || m.Subresource == "status" {
			continue
		}
		if of, ok := m.FieldsV1["f:metadata"].(map[string]any); ok {
			maps.DeleteFunc(of, func(k string, _ any) bool { return k != "f:labels" && k != "f:annotations" })
		}
		for _, name := range []string{"f:apiVersion", "f:kind", "f:status"} {
			delete(m.FieldsV1, name)
		}
		out = collect(out, "", doc, m.FieldsV1, nil)
	}
	slices.SortStableFunc(out, func(a, b field) int { return strings.Compare(a.path, b.path) })
	return doc, slices.CompactFunc(out, func(a, b field) bool { return a.path == b.path })
}

// collect adds the fields of a set that are in a value.
func collect(out []field, path string, value any, set map[string]any, change func(any)) []field {
	if len(set) == 0 {
		return first(out, path, value, change)
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		members, _ := set[key].(map[string]any)
		switch v := value.(type) {
		case map[string]any:
			name, ok := strings.CutPrefix(key, "f:")
			if of, has := v[name]; ok && has {
				out = collect(out, path+"."+name, of, members, func(x any) { v[name] = x })
			}
		case []any:
			var keys map[string]any
			d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(key, "k:")))
			d.UseNumber()
			if d.Decode(&keys) != nil {
				continue // it names a value
			}
			for i, item := range v {
				if members := without(members, keys); has(item, keys) && len(members) > 0 {
					out = collect(out, fmt.Sprintf("%s[%d]", path, i), item, members, func(x any) { v[i] = x })
				}
			}
		}
	}
	return out
}

// first adds the first number, text or boolean of a value.
func first(out []field, path string, value any, change func(any)) []field {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := first(out, path+"."+name, v[name], func(x any) { v[name] = x }); len(found) > len(out) {
				return found
			}
		}
	case []any:
		for i := range v {
			if found := first(out, fmt.Sprintf("%s[%d]", path, i), v[i], func(x any) { v[i] = x }); len(found) > len(out) {
				return found
			}
		}
	case json.Number, string, bool:
		return append(out, field{path: strings.TrimPrefix(path, "."), value: v, set: change})
	}
	return out
}

// has reports whether an element of a list has the keys.
func has(item any, keys map[string]any) bool {
	of, ok := item.(map[string]any)
	for k, v := range keys {
		ok = ok && of[k] == v
	}
	return ok
}

// without returns a set without the fields that are the keys of a list's element.
func without(set, keys map[string]any) map[string]any {
	for k := range keys {
		delete(set, "f:"+k)
	}
	delete(set, ".")
	return set
}

// others returns other values. A text may have to be a quantity, or the base64 of a Secret.
func others(value any) []any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return []any{n + 1, n - 1}
		}
		return []any{json.Number("1"), json.Number("2")}
	case bool:
		return []any{!v}
	}
	text := fmt.Sprint(value)
	return []any{text + "-x", "1", base64.StdEncoding.EncodeToString([]byte(text))}
}
