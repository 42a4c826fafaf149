package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/internal/wire"
	. "github.com/flyball-io/flyball/webhook"
)

func plain(t interface{ Fatalf(string, ...any) }, b []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

// applied applies a patch as the API server does.
func applied(t interface{ Fatalf(string, ...any) }, patch, raw []byte) []byte {
	if len(patch) == 0 {
		return raw
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("%v in %s", err, patch)
	}
	out, err := p.Apply(raw)
	if err != nil {
		t.Fatalf("%v: %s of %s", err, patch, raw)
	}
	return out
}

func decodeThing(raw []byte) (*thing, error) {
	var o thing
	err := wire.Raw{Kind: &wire.Kind{GVK: thingKind}, Encoding: wire.JSON, Bytes: raw}.Decode(&o)
	return &o, err
}

// defaulted returns the patch of a defaulter.
func defaulted(t interface{ Fatalf(string, ...any) }, raw []byte, change func(*thing)) (patch []byte, want *thing) {
	o, err := decodeThing(raw)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var before, after bytes.Buffer
	if err := Encode(&before, o); err != nil {
		t.Fatalf("%v", err)
	}
	change(o)
	if err := Encode(&after, o); err != nil {
		t.Fatalf("%v", err)
	}
	patch, err = Diff(before.Bytes(), raw, after.Bytes())
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return patch, o
}

func TestPatchHasOnlyTheChange(t *testing.T) {
	three := int32(3)
	for _, tt := range []struct {
		name, raw string
		change    func(*thing)
		want      string // the patch, with ' for "; or, after "= ", the object with it
	}{
		{"nothing", `{"spec":{"unknown":1}}`, func(*thing) {}, ``},
		{"nothing, in odd words", `{"spec":{"zero":0,"text":"\u0061","time":"2020-01-01T00:00:00+00:00"}}`, func(*thing) {}, ``},
		{"add", `{"spec":{"unknown":1}}`, func(o *thing) { o.Spec.Size = &three }, `[{'op':'add','path':'/spec/size','value':3}]`},
		{"add where the parent is missing", `{}`, func(o *thing) { o.Spec.Size = &three }, `[{'op':'add','path':'/spec','value':{'size':3}}]`},
		{"add where the parent is null", `{"spec":null}`, func(o *thing) { o.Spec.Size = &three }, `[{'op':'replace','path':'/spec','value':{'size':3}}]`},
		{"replace", `{"spec":{"text":"a"}}`, func(o *thing) { o.Spec.Text = "b" }, `[{'op':'replace','path':'/spec/text','value':'b'}]`},
		{"remove", `{"spec":{"text":"a"}}`, func(o *thing) { o.Spec.Text = "" }, `[{'op':'remove','path':'/spec/text'}]`},
		{"remove what is null", `{"spec":{"inner":{},"size":null}}`, func(o *thing) { o.Spec.Inner = nil }, `[{'op':'remove','path':'/spec/inner'}]`},
		{"labels", `{"metadata":{"name":"x"}}`, func(o *thing) { o.SetLabels(map[string]string{"a/b": "1", "c~d": "2"}) }, `[{'op':'add','path':'/metadata/labels','value':{'a/b':'1','c~d':'2'}}]`},
		{"a label", `{"metadata":{"labels":{"x":"y"}}}`, func(o *thing) { o.Labels["a/b~c"] = "1" }, `[{'op':'add','path':'/metadata/labels/a~1b~0c','value':'1'}]`},
		{"status", `{"spec":{}}`, func(o *thing) { o.Status.Phase = "New" }, `[{'op':'add','path':'/status','value':{'phase':'New'}}]`},
		{"a struct that encoding leaves out, with something unknown in it", `{"spec":{"maybe":{"unknown":1}}}`, func(o *thing) { o.Spec.Maybe.B = 2 }, `[{'op':'add','path':'/spec/maybe/b','value':2}]`},
		{"element in place", `{"spec":{"items":[{"name":"a","unknown":1},{"name":"b"}]}}`, func(o *thing) { o.Spec.Items[0].Value = "v" }, `[{'op':'add','path':'/spec/items/0/value','value':'v'}]`},
		{"append", `{"spec":{"words":["a"]}}`, func(o *thing) { o.Spec.Words = append(o.Spec.Words, "b", "c") }, `[{'op':'add','path':'/spec/words/1','value':'b'},{'op':'add','path':'/spec/words/2','value':'c'}]`},
		{"cut off", `{"spec":{"words":["a","b","c"]}}`, func(o *thing) { o.Spec.Words = o.Spec.Words[:1] }, `[{'op':'remove','path':'/spec/words/2'},{'op':'remove','path':'/spec/words/1'}]`},
		{"cut out", `{"spec":{"items":[{"name":"a"},{"name":"b","unknown":1}]}}`, func(o *thing) { o.Spec.Items = o.Spec.Items[1:] }, `= {'spec':{'items':[{'name':'b','unknown':1}]}}`},
		{"put in front", `{"spec":{"items":[{"name":"b","unknown":1}]}}`, func(o *thing) { o.Spec.Items = []item{{Name: "a"}, o.Spec.Items[0]} }, `= {'spec':{'items':[{'name':'a','inner':{'b':0}},{'name':'b','unknown':1}]}}`},
		{"swapped", `{"spec":{"items":[{"name":"a","unknown":1},{"name":"b","unknown":2}]}}`, func(o *thing) {
			slices.Reverse(o.Spec.Items)
			o.Spec.Items[0].Value = "v"
		}, `= {'spec':{'items':[{'name':'b','unknown':2,'value':'v'},{'name':'a','unknown':1}]}}`},
		{"another one in its place", `{"spec":{"items":[{"name":"a","unknown":1}]}}`, func(o *thing) { o.Spec.Items[0] = item{Name: "z"} }, `= {'spec':{'items':[{'name':'z','inner':{'b':0}}]}}`},
		{"list from null", `{"spec":{"words":null}}`, func(o *thing) { o.Spec.Words = []string{"a"} }, `[{'op':'replace','path':'/spec/words','value':['a']}]`},
		{"list to null", `{"spec":{"words":["a"]}}`, func(o *thing) { o.Spec.Words = nil }, `[{'op':'replace','path':'/spec/words','value':null}]`},
		{"lists of lists", `{"spec":{"lists":[[1,2],[3]]}}`, func(o *thing) { o.Spec.Lists[1][0] = 4 }, `[{'op':'replace','path':'/spec/lists/1/0','value':4}]`},
		{"the last of two of one name", `{"spec":{"text":"a","text":"b"}}`, func(o *thing) { o.Spec.Text = "c" }, `[{'op':'replace','path':'/spec/text','value':'c'}]`},
		{"markup", `{"spec":{}}`, func(o *thing) { o.Spec.Text = "<a&b>" }, `[{'op':'add','path':'/spec/text','value':'\u003ca\u0026b\u003e'}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			patch, want := defaulted(t, []byte(tt.raw), tt.change)
			result := applied(t, patch, []byte(tt.raw))
			if doc, ok := strings.CutPrefix(tt.want, "= "); ok {
				if d := cmp.Diff(plain(t, []byte(strings.ReplaceAll(doc, `'`, `"`))), plain(t, result)); d != "" {
					t.Errorf("patch %s (-want +got):\n%s", patch, d)
				}
			} else if got := strings.ReplaceAll(string(patch), `"`, `'`); got != tt.want {
				t.Errorf("patch %s\nwant  %s", got, tt.want)
			}
			got, err := decodeThing(result)
			if err != nil || !reflect.DeepEqual(text(t, got), text(t, want)) {
				t.Errorf("the patched object is %+v, want %+v (%v)", got, want, err)
			}
		})
	}
}

func text(t interface{ Fatalf(string, ...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(b)
}

// unknowns collects the unknown members of an object by their location. All of them are named "?".
// Elements with a name are located by it.
func unknowns(at string, v any, into map[string]string) map[string]string {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			if k == "?" {
				into[at] = fmt.Sprint(m)
			} else {
				unknowns(at+"/"+k, m, into)
			}
		}
	case []any:
		for _, m := range v {
			if m, ok := m.(map[string]any); ok {
				unknowns(at+"/"+fmt.Sprint(m["name"]), m, into)
			}
		}
	}
	return into
}

// locations collects the locations that can hold a member.
func locations(at string, v any, into map[string]bool) map[string]bool {
	switch v := v.(type) {
	case map[string]any:
		into[at] = true
		for k, m := range v {
			locations(at+"/"+k, m, into)
		}
	case []any:
		for _, m := range v {
			if m, ok := m.(map[string]any); ok {
				locations(at+"/"+fmt.Sprint(m["name"]), m, into)
			}
		}
	}
	return into
}

// addUnknown puts an unknown member into some of the objects inside v.
func addUnknown(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = addUnknown(t, v[k])
		}
		if _, values := v["labels"]; !values && rapid.IntRange(0, 2).Draw(t, "unknown") == 0 {
			v["?"] = rapid.StringMatching("[a-z]{3}").Draw(t, "mark")
		}
	case []any:
		for i := range v {
			v[i] = addUnknown(t, v[i])
		}
	}
	return v
}

// The patched object decodes to the value that the defaulter made. Fields unknown to the Go type
// stay at their location as long as that exists.
func TestPatchKeepsUnknownFields(t *testing.T) {
	texts := rapid.StringMatching("[a-c]{0,2}")
	inners := rapid.Custom(func(t *rapid.T) inner { return inner{A: texts.Draw(t, "a"), B: rapid.IntRange(0, 2).Draw(t, "b")} })
	items := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) item {
		return item{Name: rapid.StringMatching("[a-e]").Draw(t, "name"), Value: texts.Draw(t, "value"), Inner: inners.Draw(t, "inner")}
	}), 0, 4, func(i item) string { return i.Name })
	objects := rapid.Custom(func(t *rapid.T) *thing {
		o := &thing{}
		o.APIVersion, o.Kind, o.Name = "flyball.test/v1", "Thing", "x"
		o.Annotations = rapid.MapOfN(texts, texts, 0, 3).Draw(t, "annotations")
		o.Spec = spec{Text: texts.Draw(t, "text"), Zero: rapid.Int32Range(0, 2).Draw(t, "zero"), Items: items.Draw(t, "items"),
			Words: rapid.SliceOfN(texts, 0, 4).Draw(t, "words"), Lists: rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 2), 0, 3), 0, 3).Draw(t, "lists"),
			Plain: inners.Draw(t, "plain"), Maybe: inners.Draw(t, "maybe")}
		if rapid.Bool().Draw(t, "has inner") {
			i := inners.Draw(t, "inner")
			o.Spec.Inner = &i
		}
		return o
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := objects.Draw(t, "from"), objects.Draw(t, "to")
		raw := plain(t, []byte(text(t, from))).(map[string]any)
		if rapid.Bool().Draw(t, "bare") { // without the fields that encoding adds
			for k, v := range raw["spec"].(map[string]any) {
				if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
					delete(raw["spec"].(map[string]any), k)
				}
			}
			delete(raw, "status")
		}
		for _, k := range []string{"spec", "metadata"} {
			raw[k] = addUnknown(t, raw[k])
		}
		if ann, ok := raw["metadata"].(map[string]any)["annotations"].(map[string]any); ok {
			delete(ann, "?") // a map knows every member
		}
		b := []byte(text(t, raw))
		patch, want := defaulted(t, b, func(o *thing) {
			o.Annotations = to.Annotations
			o.Spec = to.Spec
		})
		result := applied(t, patch, b)
		got, err := decodeThing(result)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if d := cmp.Diff(plain(t, []byte(text(t, want))), plain(t, []byte(text(t, got)))); d != "" {
			t.Fatalf("patch %s of %s (-want +got):\n%s", patch, b, d)
		}
		after := plain(t, result)
		is, possible := unknowns("", after, map[string]string{}), locations("", after, map[string]bool{})
		for at, was := range unknowns("", any(raw), map[string]string{}) {
			if possible[at] && is[at] != was && sameElement(from, want, at) {
				t.Fatalf("patch %s of %s: %s of %q became %q", patch, b, was, at, is[at])
			}
		}
		if _, had := raw["status"]; !had {
			if _, has := after.(map[string]any)["status"]; has {
				t.Fatalf("patch %s adds a status", patch)
			}
		}
		if again, _ := defaulted(t, result, func(o *thing) { o.Annotations, o.Spec = to.Annotations, to.Spec }); len(again) > 0 {
			t.Fatalf("the patch of what is patched is %s", again)
		}
	})
}

// sameElement is false for a location whose value was removed and made again. The test does not set
// a pointer to nil and back. It does cover structs that are left out while they are zero.
func sameElement(from, to *thing, at string) bool {
	return !strings.HasPrefix(at, "/spec/maybe") || to.Spec.Maybe != (inner{}) || from.Spec.Maybe == (inner{})
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1,2,{"c":null}]}`), []byte(`{"b":[2,{"c":{}},3],"a":"x"}`))
	f.Add([]byte(`{"spec":{"items":[{"name":"a","x":1},{"name":"b"}]}}`), []byte(`{"spec":{"items":[{"name":"b"},{"name":"a","x":2}]}}`))
	f.Add([]byte(`{"~/":{"":[]}}`), []byte(`{"~/":{"":[[]],"~1":"\u0000"}}`))
	f.Add([]byte(`[]`), []byte(`{"a":{}}`))
	f.Add([]byte(`{"a":{"b":{"c":[{"key":"1","v":1}]}}}`), []byte(`{"a":{"b":{"c":[{"key":"1","v":2},{"key":"1","v":1}]}}}`))
	f.Fuzz(func(t *testing.T, raw, want []byte) {
		patch, err := Diff(raw, raw, want)
		if !json.Valid(raw) || !json.Valid(want) {
			return // only that it does not panic
		}
		if err != nil {
			t.Fatalf("%v for %s and %s", err, raw, want)
		}
		if hasTwice(raw) || hasTwice(want) || bytes.TrimSpace(raw)[0] != '{' || bytes.TrimSpace(want)[0] != '{' {
			return
		}
		got := applied(t, patch, raw)
		if !reflect.DeepEqual(plain(t, got), plain(t, want)) {
			t.Fatalf("patch %s of %s\nmakes %s\nwant  %s", patch, raw, got, want)
		}
	})
}

// hasTwice reports whether an object has a duplicate name, or text that is not UTF-8. Readers may
// interpret such documents differently.
func hasTwice(b []byte) bool {
	if !bytes.Equal(bytes.ToValidUTF8(b, nil), b) || bytes.Contains(b, []byte(`\u`)) {
		return true
	}
	var v any
	return jsonv2.Unmarshal(b, &v) != nil
}

// Documents are drawn, and their patches are right in every part: null, large numbers, lists, odd names.
func TestPatchesOfDrawnDocuments(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kinds := 7
			if depth == 0 {
				kinds = 3
			}
			switch rapid.IntRange(0, kinds).Draw(t, "kind") {
			case 0:
				return nil
			case 1:
				return rapid.Bool().Draw(t, "bool")
			case 2:
				return json.Number(rapid.SampledFrom([]string{"0", "1", "9007199254740993", "9007199254740992", "0.1", "1e3", "1000", "-9223372036854775808"}).Draw(t, "number"))
			case 3:
				return rapid.SampledFrom([]string{"", "a", "b", "<&>", "~", "\u2028"}).Draw(t, "text")
			case 4, 5:
				object := map[string]any{}
				for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "name", "~", "/", "~1", "0", "-"}), 0, 4).Draw(t, "names") {
					object[name] = value(depth-1).Draw(t, "member")
				}
				return object
			}
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		raw, want := []byte(text(t, map[string]any{"a": value(3).Draw(t, "raw")})), []byte(text(t, map[string]any{"a": value(3).Draw(t, "want")}))
		patch, err := Diff(raw, raw, want)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if got := applied(t, patch, raw); !reflect.DeepEqual(plain(t, got), plain(t, want)) {
			t.Fatalf("patch %s of %s\nmakes %s\nwant  %s", patch, raw, got, want)
		}
	})
}

// Large and deeply nested objects are handled in time, and do not exhaust the stack.
func TestPatchOfLargeAndDeepObjects(t *testing.T) {
	raw := map[string]any{}
	for i := range 50000 {
		raw[fmt.Sprintf("key-%d", i)] = i
	}
	b := []byte(text(t, raw))
	raw["key-777"] = "x"
	patch, err := Diff(b, b, []byte(text(t, raw)))
	if want := `[{"op":"replace","path":"/key-777","value":"x"}]`; err != nil || string(patch) != want {
		t.Errorf("%s, %v", patch, err)
	}
	deep := []byte(strings.Repeat(`{"a":[`, 4999) + "1" + strings.Repeat("]}", 4999))
	if patch, err = Diff(deep, deep, bytes.Replace(deep, []byte("1"), []byte("2"), 1)); err != nil || !bytes.HasSuffix(patch, []byte(`/a/0","value":2}]`)) {
		t.Errorf("%d bytes of patch, %v", len(patch), err)
	}
	if _, err := Diff([]byte("{}"), []byte("{}"), []byte("{} {}")); err == nil {
		t.Error("two documents were taken for one")
	}
	endless := []byte(strings.Repeat("[", 1<<20))
	if _, err := Diff(endless, endless, []byte("[0]")); err == nil {
		t.Error("a million levels were read")
	}
}
