package crddiff

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// ignored are the fields that change nothing for clients and stored objects.
var ignored = map[string]string{
	"JSONSchemaProps.ID": "never served", "JSONSchemaProps.Schema": "never served", "JSONSchemaProps.Ref": "forbidden in CRDs",
	"JSONSchemaProps.Description": "text", "JSONSchemaProps.Title": "text", "JSONSchemaProps.Example": "text", "JSONSchemaProps.ExternalDocs": "text",
	"JSONSchemaProps.PatternProperties": "forbidden in CRDs", "JSONSchemaProps.Dependencies": "forbidden in CRDs", "JSONSchemaProps.AdditionalItems": "forbidden in CRDs",
	"JSONSchemaProps.Definitions": "forbidden in CRDs", "JSONSchemaProps.ExclusiveMaximum": "means nothing alone; see TestSchemas", "JSONSchemaProps.ExclusiveMinimum": "means nothing alone; see TestSchemas",
	"ValidationRule.Message": "text", "ValidationRule.MessageExpression": "text", "ValidationRule.Reason": "text", "ValidationRule.FieldPath": "text",
}

// Every field of a schema and of a rule that is set is a change, or is listed with the reason why it is none.
func TestEveryFieldIsCompared(t *testing.T) {
	yes, word, number, count := true, "word", 2.0, int64(2)
	raw := extv1.JSON{Raw: []byte("2")}
	schema := extv1.JSONSchemaProps{Type: "string"}
	values := map[reflect.Type]any{}
	for _, v := range []any{yes, word, &yes, &word, &number, &count, &raw, []extv1.JSON{raw}, []string{word}, []extv1.JSONSchemaProps{schema}, &schema,
		map[string]extv1.JSONSchemaProps{word: schema}, &extv1.JSONSchemaPropsOrArray{Schema: &schema}, &extv1.JSONSchemaPropsOrBool{Allows: true, Schema: &schema},
		extv1.ValidationRules{{Rule: "self"}}} {
		values[reflect.TypeOf(v)] = v
	}
	seen := map[string]bool{}
	check := func(of reflect.Type, diff func(set func(reflect.Value)) []Change) {
		for f := range of.Fields() {
			name := of.Name() + "." + f.Name
			if seen[name] = true; ignored[name] != "" {
				continue
			}
			value, known := values[f.Type]
			if f.Name == "Format" {
				value = "date"
			}
			if !known {
				t.Errorf("%s has a type that this test does not know: %s", name, f.Type)
				continue
			}
			if len(diff(func(v reflect.Value) { v.FieldByIndex(f.Index).Set(reflect.ValueOf(value)) })) == 0 {
				t.Errorf("%s: not compared", name)
			}
		}
	}
	check(reflect.TypeFor[extv1.JSONSchemaProps](), func(set func(reflect.Value)) []Change {
		o, n := extv1.JSONSchemaProps{}, extv1.JSONSchemaProps{}
		set(reflect.ValueOf(&n).Elem())
		if n.Items != nil {
			o.Type, n.Type = "array", "array"
		}
		d := &differ{path: "."}
		d.schema(&o, &n)
		return d.changes
	})
	check(reflect.TypeFor[extv1.ValidationRule](), func(set func(reflect.Value)) []Change {
		o, n := extv1.ValidationRule{Rule: "x"}, extv1.ValidationRule{Rule: "x"}
		set(reflect.ValueOf(&n).Elem())
		d := &differ{}
		d.rules(extv1.ValidationRules{o}, extv1.ValidationRules{n})
		return d.changes
	})
	for name := range ignored {
		if !seen[name] {
			t.Errorf("there is no field %s", name)
		}
	}
}

// A format breaks what the API server refuses by it, and nothing else.
func TestFormatsAreThoseOfTheServer(t *testing.T) {
	formats := map[string][]string{
		"integer": {"int32", "int64", "uint32", "date", "x"}, "number": {"float", "double", "int32", "x"},
		"string": append(slices.Clone(enforced["string"]), "password", "date-time", "k8s-short-name", "k8s-long-name", "int64", "ip", "quantity", "regex", "time", "x"),
	}
	samples := map[string][]any{"integer": {int64(1) << 40, int64(-5)}, "number": {1e300, 0.5}, "string": {"!", " ", "A_b.c", "1"}}
	properties, fields := []string{}, map[string]*extv1.JSONSchemaProps{}
	for _, kind := range slices.Sorted(maps.Keys(formats)) {
		for i, format := range formats[kind] {
			name := fmt.Sprint(kind, i)
			fields[name] = &extv1.JSONSchemaProps{Type: kind, Format: format}
			properties = append(properties, fmt.Sprintf("%s: {type: %s, format: %s}", name, kind, format))
		}
	}
	objs, err := manifest.Decode("crd", strings.NewReader(crdYAML("{type: object, properties: {"+strings.Join(properties, ", ")+"}}")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(servertest.Shared(t).RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := manifest.Apply(t.Context(), c, "test", objs, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = manifest.Delete(context.WithoutCancel(t.Context()), c, objs, nil) })
	refused := map[string]bool{}
	for i := range 4 {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.example.com/v1", "kind": "Order"}}
		o.SetName("x")
		o.SetNamespace("default")
		for name, f := range fields {
			o.Object[name] = samples[f.Type][i%len(samples[f.Type])]
		}
		_, err := client.Create(t.Context(), c, o, client.DryRun{})
		if err == nil {
			continue
		}
		for name := range fields {
			refused[name] = refused[name] || regexp.MustCompile(`\b`+name+`\b`).MatchString(err.Error())
		}
	}
	for name, f := range fields {
		d := &differ{path: "."}
		d.schema(&extv1.JSONSchemaProps{Type: f.Type}, f)
		breaking := slices.ContainsFunc(d.changes, func(c Change) bool { return c.Breaking })
		if breaking != refused[name] {
			t.Errorf("%s with format %s: breaking %t, and the server refuses values: %t", f.Type, f.Format, breaking, refused[name])
		}
	}
}

// A rule that begins to hold without an old value breaks those who create.
func TestOptionalOldSelf(t *testing.T) {
	yes, no := true, false
	rules := func(old *bool) extv1.ValidationRules {
		return extv1.ValidationRules{{Rule: "self == oldSelf", OptionalOldSelf: old}}
	}
	for _, c := range []struct {
		o, n *bool
		want string
	}{{nil, &no, "[]"}, {nil, &yes, "[breaking]"}, {&no, &yes, "[breaking]"}, {&yes, nil, "[compatible]"}, {&yes, &yes, "[]"}} {
		d := &differ{}
		d.rules(rules(c.o), rules(c.n))
		got := []string{}
		for _, x := range d.changes {
			got = append(got, map[bool]string{true: "breaking", false: "compatible"}[x.Breaking])
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v → %v: %v, want %s", value(c.o), value(c.n), got, c.want)
		}
	}
}
