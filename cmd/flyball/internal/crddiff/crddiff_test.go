package crddiff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// crdYAML returns a CRD with one version whose object has these lines.
func crdYAML(object string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: orders.shop.example.com
spec:
  group: shop.example.com
  names: {kind: Order, plural: orders}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: ` + object + "\n"
}

func parse(t testing.TB, text string) Set {
	t.Helper()
	s := Set{}
	if err := s.Add("test", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func lines(changes []Change) (out []string) {
	for _, c := range changes {
		s := strings.Replace(c.String(), " orders.shop.example.com", "", 1)
		s = strings.Replace(s, "breaking:", "!", 1)
		out = append(out, strings.Replace(s, "compatible:", "+", 1))
	}
	return out
}

// TestSchemas compares a field x before and after. Each pair is compared in both directions.
func TestSchemas(t *testing.T) {
	for _, test := range []struct{ older, newer, there, back string }{
		{"type: integer", "type: string", "! v1 .x: type integer → string", "! v1 .x: type string → integer"},
		{"type: string", "x-kubernetes-int-or-string: true", "! v1 .x: type string → int-or-string", "! v1 .x: type int-or-string → string"},
		{"{}", "type: string", "! v1 .x: type any → string", "+ v1 .x: type string → any"},
		{"type: string, nullable: true", "type: string", "! v1 .x: null no longer allowed", "+ v1 .x: null allowed"},
		{"type: string", "type: string, format: date", "! v1 .x: format date added", "+ v1 .x: format date removed"},
		{"type: integer, format: int64", "type: integer, format: int32", "! v1 .x: format int32 added", "+ v1 .x: format int32 removed"},
		{"type: string, enum: [a, b]", "type: string, enum: [a]", `! v1 .x: value "b" removed`, `+ v1 .x: value "b" added`},
		{"type: string", "type: string, enum: [a, b]", `! v1 .x: only the values "a", "b" are allowed`, `+ v1 .x: any value is allowed, not only "a", "b"`},
		{"type: integer, maximum: 10", "type: integer, maximum: 5", "! v1 .x: maximum 10 → 5", "+ v1 .x: maximum 5 → 10"},
		{"type: integer", "type: integer, maximum: 5", "! v1 .x: maximum none → 5", "+ v1 .x: maximum 5 → none"},
		{"type: integer, maximum: 5", "type: integer, maximum: 5, exclusiveMaximum: true", "! v1 .x: maximum 5 → 5 (exclusive)", "+ v1 .x: maximum 5 (exclusive) → 5"},
		{"type: integer, exclusiveMaximum: true", "type: integer", "", ""},
		{"type: integer, minimum: 1", "type: integer, minimum: 2", "! v1 .x: minimum 1 → 2", "+ v1 .x: minimum 2 → 1"},
		{"type: integer", "type: integer, minimum: -1", "! v1 .x: minimum none → -1", "+ v1 .x: minimum -1 → none"},
		{"type: string, maxLength: 9", "type: string, maxLength: 8", "! v1 .x: greatest length 9 → 8", "+ v1 .x: greatest length 8 → 9"},
		{"type: string", "type: string, minLength: 1", "! v1 .x: least length none → 1", "+ v1 .x: least length 1 → none"},
		{"type: string", "type: string, minLength: 0", "", ""},
		{"type: array, items: {type: string}", "type: array, maxItems: 3, items: {type: string}", "! v1 .x: greatest number of items none → 3", "+ v1 .x: greatest number of items 3 → none"},
		{"type: array, minItems: 1, items: {type: string}", "type: array, minItems: 2, items: {type: string}", "! v1 .x: least number of items 1 → 2", "+ v1 .x: least number of items 2 → 1"},
		{"type: object, maxProperties: 3", "type: object, maxProperties: 2", "! v1 .x: greatest number of properties 3 → 2", "+ v1 .x: greatest number of properties 2 → 3"},
		{"type: object", "type: object, minProperties: 2", "! v1 .x: least number of properties none → 2", "+ v1 .x: least number of properties 2 → none"},
		{"type: array", "type: array, uniqueItems: true", "! v1 .x: items must be unique", "+ v1 .x: items need no longer be unique"},
		{"type: integer, multipleOf: 4", "type: integer, multipleOf: 2", "+ v1 .x: must be a multiple of 4 → 2", "! v1 .x: must be a multiple of 2 → 4"},
		{"type: integer", "type: integer, multipleOf: 2", "! v1 .x: must be a multiple of 2", "+ v1 .x: need no longer be a multiple of 2"},
		{"type: string", `type: string, pattern: "^a$"`, "! v1 .x: pattern ^a$ added", "+ v1 .x: pattern ^a$ removed"},
		{`type: string, pattern: "^a$"`, `type: string, pattern: "^b$"`, "! v1 .x: pattern ^a$ → ^b$", "! v1 .x: pattern ^b$ → ^a$"},
		{"type: integer", "type: integer, default: 1", "+ v1 .x: default 1 added", "! v1 .x: default 1 removed"},
		{"type: integer, default: 1", "type: integer, default: 2", "! v1 .x: default 1 → 2", "! v1 .x: default 2 → 1"},
		{"type: object, default: {a: 1, b: 2}", "type: object, default: {b: 2, a: 1}", "", ""},
		{"type: object, x-kubernetes-preserve-unknown-fields: true", "type: object", "! v1 .x: unknown fields are no longer kept", "+ v1 .x: unknown fields are kept"},
		{"type: object", "type: object, x-kubernetes-embedded-resource: true", "! v1 .x: must be a whole object, with apiVersion and kind", "+ v1 .x: need no longer be a whole object"},
		{"type: array", "type: array, x-kubernetes-list-type: set", "! v1 .x: list type atomic → set", "! v1 .x: list type set → atomic"},
		{"type: array", "type: array, x-kubernetes-list-type: atomic", "", ""},
		{"type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]", "type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b]",
			"! v1 .x: list keys [a] → [a b]", "! v1 .x: list keys [a b] → [a]"},
		{"type: object", "type: object, x-kubernetes-map-type: atomic", "! v1 .x: map type granular → atomic", "! v1 .x: map type atomic → granular"},
		{"type: object", `type: object, x-kubernetes-validations: [{rule: "true", message: one}]`, "! v1 .x: rule added: true", "+ v1 .x: rule removed: true"},
		{`type: object, x-kubernetes-validations: [{rule: "true", message: one}]`, `type: object, x-kubernetes-validations: [{rule: "true", message: two}]`, "", ""},
		{"type: object", "type: object, allOf: [{required: [a]}]", "! v1 .x: allOf: a restriction added", "+ v1 .x: allOf: a restriction removed"},
		{"type: object, anyOf: [{required: [a]}]", "type: object, anyOf: [{required: [a]}, {required: [b]}]", "+ v1 .x: anyOf: an alternative added", "! v1 .x: anyOf changed"},
		{"type: object, oneOf: [{required: [a]}]", "type: object, oneOf: [{required: [a]}, {required: [b]}]", "! v1 .x: oneOf changed", "! v1 .x: oneOf changed"},
		{"type: object", "type: object, oneOf: [{required: [a]}]", "! v1 .x: oneOf added", "+ v1 .x: oneOf removed"},
		{"type: object", "type: object, not: {required: [a]}", "! v1 .x: not: added or changed", "+ v1 .x: not: removed"},
		{"type: object, properties: {a: {type: string}}", "type: object", "! v1 .x.a: removed", "+ v1 .x.a: added"},
		{`type: object, properties: {"a.b/c": {type: string}}`, "type: object", `! v1 .x["a.b/c"]: removed`, `+ v1 .x["a.b/c"]: added`},
		{"type: object, properties: {a: {type: string}}", "type: object, required: [a], properties: {a: {type: string}}", "! v1 .x.a: required", "+ v1 .x.a: no longer required"},
		{"type: object, properties: {a: {type: string}}", "type: object, required: [a], properties: {a: {type: string, default: z}}",
			`+ v1 .x.a: default "z" added; + v1 .x.a: required, with the default "z"`, `! v1 .x.a: default "z" removed; + v1 .x.a: no longer required`},
		{"type: object", "type: object, required: [a], properties: {a: {type: string}}", "+ v1 .x.a: added; ! v1 .x.a: required", "! v1 .x.a: removed"},
		{"type: object, additionalProperties: {type: string}", "type: object, additionalProperties: {type: integer}", "! v1 .x[*]: type string → integer", "! v1 .x[*]: type integer → string"},
		{"type: object, additionalProperties: true", "type: object, additionalProperties: {type: integer}", "! v1 .x[*]: type any → integer", "+ v1 .x: values are no longer restricted"},
		{"type: object, additionalProperties: {type: string}", "type: object", "! v1 .x: keys of one's own choice are no longer kept", "+ v1 .x: keys of one's own choice are kept"},
		{"type: object, x-kubernetes-preserve-unknown-fields: true", "type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}",
			"! v1 .x.a: type any → string", "+ v1 .x.a: no longer declared, but kept"},
		{"type: object, additionalProperties: {type: string}", "type: object, additionalProperties: {type: string}, properties: {a: {type: integer}}",
			"! v1 .x.a: type string → integer", "+ v1 .x.a: no longer declared, but kept"},
		{"type: array, items: {type: object, properties: {a: {type: integer, maximum: 2}}}", "type: array, items: {type: object, properties: {a: {type: integer, maximum: 1}}}",
			"! v1 .x[].a: maximum 2 → 1", "+ v1 .x[].a: maximum 1 → 2"},
		{"type: array", "type: array, items: {type: string}", "! v1 .x: items are restricted to string", "+ v1 .x: items are no longer restricted"},
		{"type: string, description: a, example: b, title: c", "type: string, description: d", "", ""},
	} {
		object := func(x string) string {
			if x == "{}" {
				return crdYAML("{type: object, properties: {x: {x-kubernetes-preserve-unknown-fields: true}}}")
			}
			return crdYAML("{type: object, properties: {x: {" + x + "}}}")
		}
		older, newer := parse(t, object(test.older)), parse(t, object(test.newer))
		strip := func(c []Change) string {
			return strings.Join(slices.DeleteFunc(lines(c), func(s string) bool {
				return test.older == "{}" && strings.Contains(s, "unknown fields are") // a consequence of a field without a type
			}), "; ")
		}
		if got := strip(Diff(older, newer)); got != test.there {
			t.Errorf("%s → %s:\n%s\nwant\n%s", test.older, test.newer, got, test.there)
		}
		if got := strip(Diff(newer, older)); got != test.back {
			t.Errorf("%s → %s:\n%s\nwant\n%s", test.newer, test.older, got, test.back)
		}
		if got := Diff(older, older); len(got) > 0 {
			t.Errorf("%s to itself: %v", test.older, got)
		}
	}
}

// TestDefinitions edits the text of a whole CRD.
func TestDefinitions(t *testing.T) {
	base := crdYAML("{type: object}") + `    subresources: {status: {}, scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}
    selectableFields: [{jsonPath: .spec.a}]
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object}}
  - name: v0
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`
	for _, test := range []struct {
		name        string
		edits       []string // old, new, …
		there, back string
	}{
		{"scope", []string{"Namespaced", "Cluster"}, "! scope Namespaced → Cluster", "! scope Cluster → Namespaced"},
		{"kind", []string{"kind: Order,", "kind: Sale, listKind: OrderList, singular: order,"}, "! kind Order → Sale", "! kind Sale → Order"},
		{"plural", []string{"plural: orders", "plural: sales", "name: orders.shop", "name: sales.shop"}, "! plural orders → sales", "! sales.shop.example.com: plural sales → orders"},
		{"group", []string{"group: shop.", "group: mall.", "orders.shop.", "orders.mall."}, "! group shop.example.com → mall.example.com",
			"! orders.mall.example.com: group mall.example.com → shop.example.com"},
		{"other", []string{"plural: orders", "plural: sales", "orders.shop.", "sales.shop.", "kind: Order", "kind: Sale"},
			"! the CRD is gone; + sales.shop.example.com: a new CRD", "+ a new CRD; ! sales.shop.example.com: the CRD is gone"},
		{"words", []string{"plural: orders}", "plural: orders, shortNames: [o], categories: [all]}"}, "+ short name o added; + category all added", "+ short name o removed; + category all removed"},
		{"conversion", []string{"scope:", "conversion: {strategy: Webhook}\n  scope:"}, "+ conversion None → Webhook", "! conversion Webhook → None"},
		{"unknown", []string{"scope:", "preserveUnknownFields: true\n  scope:"}, "+ unknown fields are kept", "! unknown fields are no longer kept"},
		{"version", []string{"name: v2", "name: v3"}, "! v2: the version is gone; + v3: a new version", "! v3: the version is gone; + v2: a new version"},
		{"unserved version", []string{"name: v0", "name: v9"}, "+ v0: the version is gone; it was not served; + v9: a new version", "+ v9: the version is gone; it was not served; + v0: a new version"},
		{"stored version", []string{"name: v1", "name: v9"}, "! v1: the version is gone, and objects are stored in it; + v9: a new version",
			"! v9: the version is gone, and objects are stored in it; + v1: a new version"},
		{"served", []string{"name: v0\n    served: false", "name: v0\n    served: true"}, "+ v0: served from now on", "! v0: no longer served"},
		{"storage", []string{"served: true\n    storage: true", "served: true\n    storage: no", "storage: false", "storage: true"},
			"+ v1: no longer the stored version; it is kept, for the objects that are stored in it; + v2: the stored version from now on; + v0: the stored version from now on",
			"+ v1: the stored version from now on; + v2: no longer the stored version; it is kept, for the objects that are stored in it; + v0: no longer the stored version; it is kept, for the objects that are stored in it"},
		{"deprecated", []string{"name: v2", "name: v2\n    deprecated: true"}, "+ v2: deprecated", "+ v2: no longer deprecated"},
		{"status", []string{"status: {}, ", ""}, "! v1: status subresource removed",
			"! v1: status subresource added: writes to the object itself no longer change .status"},
		{"scale", []string{", scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}", ""}, "! v1: scale subresource removed", "+ v1: scale subresource added"},
		{"scale paths", []string{"specReplicasPath: .spec.a", "labelSelectorPath: .s, specReplicasPath: .spec.b"},
			"! v1: scale: path of the wanted replicas .spec.a → .spec.b; + v1: scale: path of the selector none → .s",
			"! v1: scale: path of the wanted replicas .spec.b → .spec.a; ! v1: scale: path of the selector .s → none"},
		{"selectable", []string{"[{jsonPath: .spec.a}]", "[]"}, "! v1: field selector .spec.a removed", "+ v1: field selector .spec.a added"},
		{"columns", []string{"name: v2", "name: v2\n    additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]"}, "+ v2: printer columns changed", "+ v2: printer columns changed"},
		{"no schema", []string{"schema: {openAPIV3Schema: {type: object}}\n  - name: v0", "\n  - name: v0"}, "+ v2 .: unknown fields are kept", "! v2 .: unknown fields are no longer kept"},
		{"unserved schema", []string{"storage: false\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v0", "storage: false\n  - name: v0",
			"name: v2\n    served: true", "name: v2\n    served: false"}, "! v2: no longer served; + v2 .: unknown fields are kept", "+ v2: served from now on; ! v2 .: unknown fields are no longer kept"},
	} {
		text := base
		for i := 0; i < len(test.edits); i += 2 {
			if !strings.Contains(text, test.edits[i]) {
				t.Fatalf("%s: no %q", test.name, test.edits[i])
			}
			text = strings.ReplaceAll(text, test.edits[i], test.edits[i+1])
		}
		older, newer := parse(t, base), parse(t, text)
		for _, x := range []struct {
			got  []Change
			want string
		}{{Diff(older, newer), test.there}, {Diff(newer, older), test.back}} {
			if got := strings.ReplaceAll(strings.Join(lines(x.got), "; "), "!:", "!"); strings.ReplaceAll(got, "+:", "+") != x.want {
				t.Errorf("%s:\n%s\nwant\n%s", test.name, got, x.want)
			}
		}
	}
}

func ExampleDiff() {
	older, newer := Set{}, Set{}
	for set, most := range map[*Set]int{&older: 10, &newer: 5} {
		text := fmt.Sprintf("{type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: %d}}}}}", most)
		if err := set.Add("orders.yaml", []byte(crdYAML(text))); err != nil {
			fmt.Println(err)
		}
	}
	for _, c := range Diff(older, newer) {
		fmt.Println(c)
	}
	// Output: breaking: orders.shop.example.com v1 .spec.size: maximum 10 → 5
}
