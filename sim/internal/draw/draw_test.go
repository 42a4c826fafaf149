package draw

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
)

// drawSchema returns a schema, as the API has it, of a depth.
func drawSchema(r *rapid.T, depth int) map[string]any {
	kinds := []string{"integer", "number", "string", "boolean", "enum", "int-or-string", "pattern", "format"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "map", "open")
	}
	s := map[string]any{}
	switch kind := rapid.SampledFrom(kinds).Draw(r, "kind"); kind {
	case "integer", "number":
		s["type"] = kind
		low := rapid.IntRange(-5, 5).Draw(r, "low")
		if rapid.Bool().Draw(r, "has minimum") {
			s["minimum"] = low
		}
		if rapid.Bool().Draw(r, "has maximum") {
			s["maximum"] = low + rapid.IntRange(0, 100).Draw(r, "more")
		}
	case "string":
		s["type"] = kind
		if rapid.Bool().Draw(r, "has minLength") {
			s["minLength"] = rapid.IntRange(0, 10).Draw(r, "minLength")
		}
		if rapid.Bool().Draw(r, "has maxLength") {
			s["maxLength"] = rapid.IntRange(10, 70).Draw(r, "maxLength")
		}
	case "boolean":
		s["type"] = kind
	case "enum":
		s["type"], s["enum"] = "string", rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z][a-z]{0,5}`), 1, 5, rapid.ID).Draw(r, "enum")
	case "int-or-string":
		s["x-kubernetes-int-or-string"] = true
	case "pattern":
		s["type"], s["pattern"] = "string", rapid.SampledFrom([]string{"^a+$", "^(b|c)?d{2,3}$", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}).Draw(r, "pattern")
	case "format":
		s["type"], s["format"] = "string", rapid.SampledFrom([]string{"date-time", "ipv4", "uri", "byte"}).Draw(r, "format")
	case "array":
		s["type"], s["items"] = kind, drawSchema(r, depth-1)
		if rapid.Bool().Draw(r, "has maxItems") {
			s["maxItems"] = rapid.IntRange(1, 6).Draw(r, "maxItems")
		}
	case "object":
		properties, required := map[string]any{}, []string{}
		for i := range rapid.IntRange(1, 3).Draw(r, "properties") {
			name := fmt.Sprint("p", i)
			properties[name] = drawSchema(r, depth-1)
			if rapid.Bool().Draw(r, "required") {
				required = append(required, name)
			}
		}
		s["type"], s["properties"], s["required"] = kind, properties, required
	case "map":
		s["type"], s["additionalProperties"] = "object", drawSchema(r, depth-1)
	case "open":
		s["type"], s["x-kubernetes-preserve-unknown-fields"] = "object", true
	}
	if rapid.IntRange(0, 4).Draw(r, "nullable") == 0 {
		s["nullable"] = true
	}
	return s
}

// root returns the schema of an object with a spec, and an object of it.
func root(r *rapid.T) (*Schema, map[string]any) {
	text, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{
		"kind": map[string]any{"type": "string"}, "metadata": map[string]any{"type": "object"}, "spec": func() any {
			properties := map[string]any{}
			for i := range rapid.IntRange(1, 5).Draw(r, "fields") {
				properties[fmt.Sprint("f", i)] = drawSchema(r, 2)
			}
			return map[string]any{"type": "object", "properties": properties}
		}(),
		"status": map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string"}}},
	}, "required": []string{"spec"}})
	if err != nil {
		r.Fatal(err)
	}
	s, err := Parse(text)
	if err != nil {
		r.Fatal(err)
	}
	return s, map[string]any{"kind": "X", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{}}
}

// invalid says where an object is not valid for a schema, written anew from the definition of structural schemas.
func invalid(s *Schema, v any, at string) string {
	if v == nil {
		if s.Nullable {
			return ""
		}
		return at + " is null"
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return fmt.Sprintf("%s is %v, of %v", at, v, s.Enum)
	}
	typ := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Float64: "number", reflect.String: "string", reflect.Slice: "array", reflect.Map: "object"}[reflect.TypeOf(v).Kind()]
	want := strings.Replace(s.Type, "integer", "number", 1)
	if s.IntOrText && typ != "number" && typ != "string" || !s.IntOrText && want != typ {
		return fmt.Sprintf("%s is of the type %s, want %s", at, typ, want)
	}
	switch v := v.(type) {
	case string:
		n := len([]rune(v))
		if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			return fmt.Sprintf("%s is %q", at, v)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum || s.Type == "integer" && v != float64(int(v)) {
			return fmt.Sprintf("%s is %v", at, v)
		}
	case []any:
		if s.MaxItems != nil && len(v) > *s.MaxItems {
			return fmt.Sprintf("%s has %d items", at, len(v))
		}
		for i, x := range v {
			if why := invalid(s.Items, x, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return at + " lacks " + name
			}
		}
		for k, x := range v {
			p := s.Properties[k]
			if p == nil {
				p = s.values()
			}
			switch {
			case p == nil && (s.Open || len(s.Properties) == 0):
			case p == nil:
				return at + " has an unknown member " + k
			default:
				if why := invalid(p, x, at+"."+k); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// Each drawn object is valid for its schema, differs from the one before, and is what its edit says; the one before is
// not changed. Its kind, metadata and status stay.
func TestDrawnObjectsAreValid(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, base := root(r)
		source := NewSource(s, rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0)), nil)
		o := base
		for range 20 {
			before, err := json.Marshal(o)
			if err != nil {
				r.Fatal(err)
			}
			next := source.Next(o)
			if next == nil {
				return
			}
			if after, _ := json.Marshal(o); string(after) != string(before) {
				r.Fatalf("%s became %s", before, after)
			}
			if same(next, o) {
				r.Fatalf("the same again: %s", before)
			}
			if why := invalid(s, next, ""); why != "" {
				r.Fatal(why)
			}
			if !reflect.DeepEqual(next["metadata"], base["metadata"]) || next["kind"] != "X" || next["status"] != nil {
				r.Fatalf("more than the spec was changed: %v", next)
			}
			e := Between(base, next)
			text, err := json.Marshal(e)
			if err != nil {
				r.Fatal(err)
			}
			var read Edit
			if err := json.Unmarshal(text, &read); err != nil {
				r.Fatal(err)
			}
			if got := read.Apply(base); !same(got, next) {
				r.Fatalf("%s makes %v, want %v", text, got, next)
			}
			o = next
		}
	})
}

// Each change of an object is reached before one is drawn twice, however many the schema has.
func TestEachChangeIsReached(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, base := root(r)
		source := NewSource(s, rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0)), nil)
		by := map[string]int{} // changes by field
		most := 0
		all := Changes(s, base)
		for _, c := range all {
			field := Pointer(c.Path[:2])
			by[field]++
			most = max(most, by[field])
		}
		seen := map[string]int{}
		count := map[string]int{}
		for range 100 * len(by) * most {
			next := source.Next(base)
			e := Between(base, next)
			c := e.Changes()
			if len(c) != 1 {
				r.Fatalf("%d changes: %v", len(c), e)
			}
			name, field := c[0].String(), Pointer(c[0].Path)
			seen[name]++
			count[field]++
			if rounds := (count[field] + by[field] - 1) / by[field]; seen[name] > rounds {
				r.Fatalf("%s is drawn %d times in %d draws of the field, which has %d changes", name, seen[name], count[field], by[field])
			}
			if len(seen) == len(all) {
				return
			}
		}
		r.Fatalf("%d of %d changes are reached", len(seen), len(all))
	})
}

// What is drawn of a field, by name.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ name, schema, value, want string }{
		{"enum", `{"type":"string","enum":["A","B","C"]}`, `"A"`, `-/spec/f /spec/f="B" /spec/f="C"`},
		{"boolean", `{"type":"boolean"}`, `true`, `-/spec/f /spec/f=false`},
		{"bounds", `{"type":"integer","minimum":-1,"maximum":9}`, `5`, `-/spec/f /spec/f=6 /spec/f=4 /spec/f=-1 /spec/f=0 /spec/f=9 /spec/f=8 /spec/f=1 /spec/f=2 /spec/f=3`},
		{"exclusive bounds", `{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":2}`, `1`, `-/spec/f /spec/f=2`},
		{"null", `{"type":"boolean","nullable":true}`, `true`, `-/spec/f /spec/f=null /spec/f=false`},
		{"multiples", `{"type":"integer","minimum":4,"maximum":12,"multipleOf":4}`, `8`, `-/spec/f /spec/f=4 /spec/f=12`},
		{"order", `{"type":"array","maxItems":2,"items":{"type":"string","enum":["A","B"]}}`, `["A","B"]`,
			`-/spec/f /spec/f=[] /spec/f=["B"] /spec/f=["A"] /spec/f=["B","A"] /spec/f=["A","A"] /spec/f/0="B" /spec/f/1="A"`},
		{"map", `{"type":"object","additionalProperties":{"type":"boolean"}}`, `{"x":true}`,
			`-/spec/f /spec/f={} -/spec/f/x /spec/f/x=false /spec/f/a=false /spec/f/a=true /spec/f/b.example.com~1c=false /spec/f/b.example.com~1c=true /spec/f/D=false /spec/f/D=true`},
		{"pattern", `{"type":"string","pattern":"^(ab|cd)$"}`, `"ab"`, `-/spec/f /spec/f="cd"`},
		{"format", `{"type":"string","format":"date"}`, `"2021-01-01"`, `-/spec/f /spec/f="2021-01-01x" /spec/f="2020-02-29"`},
	} {
		s, err := Parse(fmt.Appendf(nil, `{"type":"object","properties":{"spec":{"type":"object","properties":{"f":%s}}},"required":["spec"]}`, c.schema))
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := json.Unmarshal(fmt.Appendf(nil, `{"spec":{"f":%s}}`, c.value), &o); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range Changes(s, o) {
			got = append(got, x.String())
		}
		if text := strings.Join(slices.Compact(got), " "); text != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, text, c.want)
		}
	}
}

// Fixed fields, and all below, stay.
func TestFixedFieldsStay(t *testing.T) {
	s, err := Parse([]byte(`{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"object","properties":{"x":{"type":"boolean"}}},"ab":{"type":"boolean"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	o := map[string]any{"spec": map[string]any{"a": map[string]any{"x": true}}}
	source := NewSource(s, rand.New(rand.NewPCG(1, 0)), []string{"spec.a"})
	for range 20 {
		o = source.Next(o)
		if a := o["spec"].(map[string]any)["a"]; !same(a, map[string]any{"x": true}) {
			t.Fatalf("spec.a is %v", a)
		}
	}
}

// Texts of a pattern match it, and of each alternative there is one.
func TestExamplesMatch(t *testing.T) {
	for _, p := range []string{`^(a|b|c)-[0-9]{2,4}$`, `^([a-z0-9.-]+(:[0-9]+)?/)?[a-z0-9._-]+$`, `^\d+(ms|s|m|h)$`, `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`} {
		all := examples(p)
		if len(all) < 2 {
			t.Errorf("%s has only %q", p, all)
		}
		for _, text := range all {
			if !regexp.MustCompile(p).MatchString(text) {
				t.Errorf("%q does not match %s", text, p)
			}
		}
	}
}
