// Package judge says whether the states of a run are those of the reference, a run without faults.
package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// State is the objects at a settle, in a form that two runs can be compared by: without uids, versions and times.
type State struct {
	texts map[string]string
	again map[string]bool // objects that were made in the step under a name that was there before it
}

// Options say what is not compared.
type Options struct {
	// Ignore has paths of fields, such as "status.lastSeen", after the kind and a space where it is for one kind only.
	Ignore []string
	// Loose is for runs in which the same object was made otherwise. An empty object, an empty list and null are as a
	// field that is not there. The hash that package child writes is not compared: it covers the uid of the owner.
	Loose bool
	// Skip reports whether an object is not compared.
	Skip func(key string) bool
}

// Touched is the annotation of objects that somebody else has changed, by a fault. It is not compared.
const Touched = "simulation.flyball.dev/touched"

// applied is the annotation that package child writes.
const applied = "flyball.io/applied"

// volatile are the fields of the metadata that differ between runs.
var volatile = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"}

var (
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)
)

// Of returns the state of a view. Before is the view at the begin of the step. Objects that are not newer than the
// version first are left out: they are those of every cluster.
func Of(v, before core.View, first uint64, o Options) State {
	s := State{texts: map[string]string{}, again: map[string]bool{}}
	var all []*form
	for ob := range v.All("/") {
		if ob.Version > first && !skipped(ob.Key) && (o.Skip == nil || !o.Skip(ob.Key)) {
			f := formOf(ob, o)
			all = append(all, f)
			old := before.Get(ob.Key)
			s.again[ob.Key] = old != nil && UID(old) != f.uid
		}
	}
	names := symbols(all)
	owners := map[string]string{}
	for _, f := range all {
		owners[f.uid] = names.Replace(f.key)
	}
	for _, f := range all {
		key := names.Replace(f.key)
		text := f.text
		for _, uid := range f.uids {
			if owner, ok := owners[uid]; ok {
				text = strings.ReplaceAll(text, uid, "uid of "+owner)
			} else {
				text = strings.ReplaceAll(text, uid, "uid of nobody")
			}
		}
		s.texts[key] = names.Replace(text)
		if key != f.key {
			s.again[key] = s.again[f.key]
		}
	}
	return s
}

// symbols returns what replaces generated names: two runs may generate others. Their order is that of their creation.
func symbols(all []*form) *strings.Replacer {
	var generated []*form
	for _, f := range all {
		if f.prefix != "" {
			generated = append(generated, f)
		}
	}
	slices.SortStableFunc(generated, func(a, b *form) int {
		return cmp.Or(strings.Compare(a.made, b.made), cmp.Compare(a.version, b.version))
	})
	var pairs []string
	count := map[string]int{}
	for _, f := range generated {
		count[f.prefix]++
		pairs = append(pairs, f.name, fmt.Sprintf("%s<%d>", f.prefix, count[f.prefix]))
	}
	return strings.NewReplacer(pairs...)
}

// form is an object without what differs between runs, but for uids and generated names.
type form struct {
	key, uid, name, prefix, made string
	version                      uint64
	text                         string
	uids                         []string // in text
}

// forms has the forms of objects, by the options and the JSON of the object. Runs have many objects in common.
var forms struct {
	sync.Mutex
	known map[string]*form
}

// maxForms bounds the forms that are kept.
const maxForms = 20000

func formOf(o *core.Object, opts Options) *form {
	id := strings.Join(opts.Ignore, "\n") + fmt.Sprintln(opts.Loose) + o.Key + "\n" + string(o.JSON)
	forms.Lock()
	f := forms.known[id]
	forms.Unlock()
	if f != nil {
		return f
	}
	f = newForm(o, opts)
	forms.Lock()
	defer forms.Unlock()
	if forms.known == nil || len(forms.known) >= maxForms {
		forms.known = map[string]*form{}
	}
	forms.known[id] = f
	return f
}

func newForm(o *core.Object, opts Options) *form {
	f := &form{key: o.Key, version: o.Version}
	var doc map[string]any
	if err := json.Unmarshal(o.JSON, &doc); err != nil {
		f.text = err.Error() // the rules write JSON
		return f
	}
	md, _ := doc["metadata"].(map[string]any)
	f.uid, _ = md["uid"].(string)
	f.name, _ = md["name"].(string)
	f.made, _ = md["creationTimestamp"].(string)
	if prefix, _ := md["generateName"].(string); strings.HasPrefix(f.name, prefix) {
		f.prefix = prefix
	}
	f.text = text(doc, opts)
	f.uids = slices.Compact(slices.Sorted(slices.Values(uids.FindAllString(f.text, -1))))
	return f
}

var uidText = regexp.MustCompile(`"uid":"([-0-9a-f]{36})"`)

// UID returns the uid of an object.
func UID(o *core.Object) string {
	if m := uidText.FindSubmatch(o.JSON); m != nil {
		return string(m[1])
	}
	return ""
}

// skipped reports whether objects of a kind say nothing about the work of programs.
func skipped(key string) bool {
	return strings.HasPrefix(key, "/core/events/") || strings.HasPrefix(key, "/events.k8s.io/") || strings.HasPrefix(key, "/coordination.k8s.io/leases/")
}

// text returns an object without what differs between runs, but for uids and generated names.
func text(doc map[string]any, opts Options) string {
	md, _ := doc["metadata"].(map[string]any)
	generation, _ := md["generation"].(float64)
	for _, f := range volatile {
		delete(md, f)
	}
	if a, _ := md["annotations"].(map[string]any); a[Touched] != nil {
		if delete(a, Touched); len(a) == 0 {
			delete(md, "annotations")
		}
	}
	kind, _ := doc["kind"].(string)
	for _, path := range opts.Ignore {
		if of, field, ok := strings.Cut(path, " "); ok {
			if of != kind {
				continue
			}
			path = field
		}
		drop(doc, strings.Split(path, "."))
	}
	if status, ok := doc["status"].(map[string]any); ok && len(status) == 0 {
		delete(doc, "status") // to a program it is the same
	}
	observed(doc, generation)
	if opts.Loose {
		drop(md, []string{"annotations", applied})
		prune(doc)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return err.Error()
	}
	return times.ReplaceAllString(string(b), "TIME")
}

// observed replaces each observedGeneration by whether it is the present one.
func observed(v any, generation float64) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if n, ok := x.(float64); ok && k == "observedGeneration" {
				v[k] = map[bool]string{true: "the present one", false: "an old one"}[n == generation]
				continue
			}
			observed(x, generation)
		}
	case []any:
		for _, x := range v {
			observed(x, generation)
		}
	}
}

// prune removes members that are null, empty objects, or empty lists. It reports whether the value is one itself.
func prune(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for k, x := range v {
			if prune(x) {
				delete(v, k)
			}
		}
		return len(v) == 0
	case []any:
		for _, x := range v {
			prune(x)
		}
		return len(v) == 0
	}
	return false
}

// drop removes a field; "*" stands for all members or elements.
func drop(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch {
			case path[0] != k && path[0] != "*":
			case len(path) == 1:
				delete(v, k)
			default:
				drop(x, path[1:])
			}
		}
	case []any:
		for _, x := range v {
			if path[0] == "*" && len(path) > 1 {
				drop(x, path[1:])
			} else {
				drop(x, path)
			}
		}
	}
}

// Difference is one object that is not as it has to be.
type Difference struct {
	// Object names it: resource.group/namespace/name.
	Object string
	// What says what is wrong, in a few words.
	What string
	// Got and Want are the texts of the object; "" if there is none.
	Got, Want string
}

func (d Difference) String() string { return d.Object + " " + d.What }

// Differ returns what of a state is not as in the reference. Strict says that an object has to be made anew in the same
// steps.
func Differ(want, got State, strict bool) (out []Difference) {
	keys := make([]string, 0, len(want.texts))
	for k := range want.texts {
		keys = append(keys, k)
	}
	for k := range got.texts {
		if _, both := want.texts[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		w, wanted := want.texts[k]
		g, there := got.texts[k]
		d := Difference{Object: Name(k), Got: g, Want: w}
		switch {
		case !there:
			d.What = "is missing"
		case !wanted:
			d.What = "is left over"
		case w != g:
			d.What = "differs"
		case strict && want.again[k] && !got.again[k]:
			d.What = "was not made anew"
		default:
			continue
		}
		out = append(out, d)
	}
	return out
}

// ResourceOf returns the resource of a key, with its group unless that is "".
func ResourceOf(key string) string {
	resource, _, _ := strings.Cut(Name(key), "/")
	return resource
}

// Name returns the object of a key as people name it.
func Name(key string) string {
	parts := strings.SplitN(strings.TrimPrefix(key, "/"), "/", 3)
	if len(parts) < 3 {
		return key
	}
	if parts[0] == "core" {
		return parts[1] + "/" + parts[2]
	}
	return parts[1] + "." + parts[0] + "/" + parts[2]
}
