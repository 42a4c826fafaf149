package apiserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// call is one request, or several alike, the same for both servers but for what they told before.
type call struct {
	name string
	run  func(*world)
	user string // "": the administrator
	size int64  // how many requests it is counted as, if they are several
}

// randomKind is a kind of random calls. A change is a merge patch of it.
type randomKind struct {
	path, kind, rest string
	changes          []string
	// subresources are those that may be patched, besides the object itself.
	subresources []string
	// pool are the names that its objects may have, if only some are valid; nil: any. names are those of a sequence.
	pool, names []string
	// ruled says that rules read the name: that of an object whose name is generated is valid by chance.
	ruled bool
	// cluster says that its objects have no namespace.
	cluster bool
}

// dice decide.
type dice struct{ *rand.Rand }

func (d dice) pick(of ...string) string { return of[d.IntN(len(of))] }

// metadata returns up to n fields of metadata, of different names.
func (d dice) metadata(n int) []string {
	var out []string
	for range d.IntN(n + 1) {
		m := d.pick(randomMetadata...)
		if !slices.ContainsFunc(out, func(o string) bool { return field(o) == field(m) }) {
			out = append(out, m)
		}
	}
	return out
}

// body returns an object of the kind, with more fields of its metadata.
func (k randomKind) body(name string, metadata ...string) string {
	apiVersion, kind, _ := strings.Cut(k.kind, " ")
	metadata = append([]string{fmt.Sprintf(`"name":%q`, name)}, metadata...)
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s},%s}`, apiVersion, kind, strings.Join(metadata, ","), k.rest)
}

// randomMetadata are fields and patches of metadata.
var randomMetadata = []string{
	`"labels":{"l":"1"}`, `"labels":{"l":"2","m":""}`, `"labels":{"not valid":"x"}`, `"annotations":{"n":"o"}`, `"finalizers":["example.com/f"]`, `"finalizers":["nonsense"]`,
	`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"the-uid-of-an-owner"}]`, `"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"the-uid-of-an-owner","controller":true,"blockOwnerDeletion":true}]`,
	`"finalizers":null`, `"labels":null`, `"ownerReferences":null`, `"generation":7`, `"resourceVersion":"5"`, `"uid":"the-uid-of-another"`, `"creationTimestamp":"2020-01-01T00:00:00Z"`, `"deletionTimestamp":"2020-01-01T00:00:00Z"`, `"managedFields":[]`,
}

// call draws one call.
func (d dice) call(k randomKind) call {
	pick := d.pick
	name := pick(k.names...)
	one := k.path + "/" + name
	query := pick("", "", "", "?dryRun=All", "?fieldManager=other", "?fieldValidation=Strict")
	switch verb := pick("create", "create", "create", "many", "generate", "mutant", "get", "list", "put", "put", "stale", "merge", "merge", "change", "change", "json", "strategic", "apply", "apply", "delete", "delete", "collection"); verb {
	case "create":
		body := k.body(name, d.metadata(2)...)
		return call{name: "create " + body, run: func(w *world) { w.remember(one, w.post(k.path+query, body)) }}
	case "many": // of one form, so that answers are remembered
		return d.many(k, query)
	case "generate":
		if k.ruled {
			return d.call(k)
		}
		body := strings.Replace(k.body(name), `"name"`, `"generateName"`, 1)
		return call{name: "create " + body, run: func(w *world) {
			w.bases = []string{name}
			defer func() { w.bases = nil }()
			// A name by chance would stand anywhere in a list.
			if a := w.post(k.path+query, body); a.Metadata.Name != "" {
				w.patch(mergePatch, k.path+"/"+a.Metadata.Name, `{"metadata":{"finalizers":null}}`)
				w.delete(k.path+"/"+a.Metadata.Name, `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
			}
		}}
	case "mutant":
		body := d.mutant(k.body(name), k.path != "~/services") // DIFFERENCES.md
		return call{name: "create " + body, run: func(w *world) { w.remember(one, w.post(k.path+query, body)) }}
	case "get":
		accept := pick(jsonType, acceptTable, acceptPartial)
		return call{name: "get", run: func(w *world) { w.do("GET", one, "", "Accept", accept) }}
	case "list":
		options := pick("", "?labelSelector=l", "?labelSelector=l!=1", "?labelSelector=l+in+(1,2)", "?fieldSelector=metadata.name="+name, "?fieldSelector=spec.nodeName=n", "?limit=1", "?limit=2&labelSelector=l",
			"?resourceVersion=0", "?limit=1&resourceVersion=0", "?resourceVersionMatch=Exact&resourceVersion=VERSION", "?resourceVersionMatch=Exact", "?labelSelector=(")
		accept := pick(jsonType, jsonType, acceptTable, acceptPartial)
		return call{name: "list " + options, run: func(w *world) {
			if strings.Contains(options, "resourceVersion=0") { // answered from a cache of the real server, which waits for a list
				w.send2("GET", w.path(k.path), "")
			}
			// A version of the sequence: older ones are forgotten in a long run, by each server at its own time.
			options := strings.ReplaceAll(options, "VERSION", w.last(one, 1).Metadata.ResourceVersion)
			a := w.do("GET", k.path+options, "", "Accept", accept)
			for a.Metadata.Continue != "" {
				a = w.do("GET", k.path+options+"&continue="+a.Metadata.Continue, "", "Accept", accept)
			}
		}}
	case "put", "stale":
		back := 0
		if verb == "stale" {
			back = 1 + d.IntN(3)
		}
		metadata := pick(randomMetadata...)
		unconditional := d.IntN(2) == 0
		return call{name: fmt.Sprintf("put the %d last of %s with %s", back, one, metadata), run: func(w *world) {
			was := w.last(one, back)
			w.remember(one, w.put(one+query, changed(was.raw, metadata, unconditional)))
		}}
	case "merge":
		body := `{"metadata":{` + pick(randomMetadata...) + `}}`
		return call{name: "merge " + body, run: func(w *world) { w.remember(one, w.patch(mergePatch, one+query, body)) }}
	case "change":
		body, at := pick(k.changes...), pick(append([]string{""}, k.subresources...)...)
		if at != "" {
			at = "/" + at
		}
		return call{name: "merge " + one + at + " " + body, run: func(w *world) { w.remember(one, w.patch(mergePatch, one+at+query, body)) }}
	case "json":
		body := pick(`[{"op":"add","path":"/metadata/labels","value":{"l":"3"}}]`, `[{"op":"remove","path":"/metadata/labels"}]`, `[{"op":"test","path":"/metadata/name","value":"a"},{"op":"add","path":"/metadata/annotations","value":{"t":"u"}}]`,
			`[{"op":"replace","path":"/kind","value":"Nothing"}]`, `[{"op":"add","path":"/nothing/x","value":1}]`, `[{"op":"nonsense"}]`, `[]`, `{}`)
		return call{name: "json patch " + body, run: func(w *world) { w.remember(one, w.patch(jsonPatch, one+query, body)) }}
	case "strategic":
		body := pick(`{"metadata":{"finalizers":["example.com/g"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/f"]}}`, `{"metadata":{"labels":{"$patch":"replace","z":"1"}}}`, `{"$patch":"delete"}`, `{"nothing":1}`)
		return call{name: "strategic patch " + body, run: func(w *world) { w.remember(one, w.patch(strategic, one+query, body)) }}
	case "apply":
		manager := pick("m", "n")
		body := k.body(name, d.metadata(1)...)
		if d.IntN(2) == 0 {
			apiVersion, kind, _ := strings.Cut(k.kind, " ")
			body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,%s}}`, apiVersion, kind, name, pick(randomMetadata...))
		}
		options := "?fieldManager=" + manager + pick("", "&force=true", "&dryRun=All")
		return call{name: "apply " + options + " " + body, run: func(w *world) { w.remember(one, w.patch(applyPatch, one+options, body)) }}
	case "delete":
		body := pick("", "", `{"gracePeriodSeconds":0}`, `{"gracePeriodSeconds":5}`, `{"gracePeriodSeconds":-1}`, `{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":"Orphan"}`, `{"propagationPolicy":"Background"}`, `{"propagationPolicy":"Nonsense"}`,
			`{"preconditions":{"uid":"none"}}`, `{"preconditions":{"resourceVersion":"1"}}`, `{"dryRun":["All"]}`, `{"dryRun":["Nonsense"]}`, `{"orphanDependents":true}`)
		return call{name: "delete " + one + " " + body, run: func(w *world) { w.remember(one, w.delete(one, body)) }}
	default:
		options := pick("?labelSelector=l", "?labelSelector=l=1", "?fieldSelector=metadata.name="+name, "?labelSelector=l&dryRun=All")
		return call{name: "delete collection " + options, run: func(w *world) {
			// In which order the real server deletes is chance: the next call tells what it left.
			w.note("%d", w.send2("DELETE", w.path(k.path+options), ""))
			w.since[k.path] = w.get(k.path).Metadata.ResourceVersion
			maps.DeleteFunc(w.seen, func(path string, _ []answer) bool { return strings.HasPrefix(path, k.path+"/") })
		}}
	}
}

// many creates objects that differ in their names only, all that its kind may have in any order, and deletes them.
func (d dice) many(k randomKind, query string) call {
	names := slices.Clone(k.pool)
	if names == nil {
		names = slices.Clone(shaped)
	}
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	metadata := d.metadata(1)
	return call{name: fmt.Sprintf("create each of %s, by %s", names, k.body("NAME", metadata...)), size: int64(len(names)), run: func(w *world) {
		for _, name := range names {
			w.remember(k.path+"/"+name, w.post(k.path+query, k.body(name, metadata...)))
		}
		for _, name := range names {
			w.delete(k.path+"/"+name, `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
		}
	}}
}

// field returns the name of a field of metadata.
func field(text string) string { name, _, _ := strings.Cut(text, ":"); return name }

// changed returns an object with other metadata, and if unconditional without its version.
func changed(raw, metadata string, unconditional bool) string {
	var object, more map[string]any
	if json.Unmarshal([]byte(raw), &object) != nil || json.Unmarshal([]byte("{"+metadata+"}"), &more) != nil {
		return "{}"
	}
	m, _ := object["metadata"].(map[string]any)
	if m == nil {
		return "{}"
	}
	if unconditional {
		delete(m, "resourceVersion")
	}
	maps.Copy(m, more)
	text, err := json.Marshal(object)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// mutant returns an object with one field that is something else, of its metadata only if that is wanted.
func (d dice) mutant(body string, metadata bool) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		panic(err) // the bodies stand here
	}
	type place struct {
		in  map[string]any
		key string
	}
	var places []place
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if key == "metadata" && !metadata {
					continue
				}
				places = append(places, place{v, key})
				walk(v[key])
			}
		}
	}
	walk(object)
	at := places[d.IntN(len(places))]
	switch value := d.pick("gone", "new", "null", `""`, `"x"`, `"X y"`, "-1", "0", "1.5", "true", "[]", "{}", `[1]`, `{"x":"y"}`); value {
	case "gone":
		delete(at.in, at.key)
	case "new":
		at.in["unheard"] = "of"
	default:
		at.in[at.key] = json.RawMessage(value)
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(text)
}
