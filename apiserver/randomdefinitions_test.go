package apiserver_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// drawn is a definition that was drawn, and its kind in each of its versions.
type drawn struct {
	name, body string
	kinds      []randomKind
}

// ruledName is a rule about the names of custom resources, as the schema of their metadata and as an expression. Some
// of the names that a kind has obey it.
type ruledName struct {
	schema, rule, more string
	names              []string
}

// shaped are names of one length, with a dash in one place.
var shaped = []string{"abc-123", "xyz-007", "the-end", "abc-xyz", "q7r-100", "a1b-234", "mno-999", "zzz-zzz", "bad-bad", "old-one", "now-now", "not-ten"}

var (
	dates     = []string{"2026-01-02", "1999-12-31", "2026-13-02", "abcd-ef-gh", "2026-02-30", "1984-06-06"}
	addresses = []string{"10.10.10.10", "192.16.10.1", "10.99.10.10", "10.10.999.1", "ab.cd.efg.h", "300.10.10.1"}
	lengths   = []string{"abc-12", "abc-123", "xyz-00", "xyz-007", "q7r-1", "the-end"}
	nothing   ruledName
)

// ruledNames are ways in which the outcome of a create depends on the name.
var ruledNames = []ruledName{
	{schema: `{"pattern":"^[a-z]+-[0-9]+$"}`},
	{schema: `{"pattern":"[0-9]"}`},
	{schema: `{"enum":["abc-123","the-end","xyz-007","q7r-100"]}`},
	{schema: `{"not":{"pattern":"x"}}`},
	{schema: `{"not":{"enum":["abc-xyz","bad-bad"]}}`},
	{schema: `{"anyOf":[{"pattern":"^[a-m]"},{"maxLength":3}]}`},
	{schema: `{"oneOf":[{"pattern":"^[a-m]"},{"pattern":"[m-z]$"}]}`},
	{schema: `{"allOf":[{"pattern":"^[a-z]"},{"not":{"pattern":"z$"}}]}`},
	{schema: `{"maxLength":6}`, names: lengths},
	{schema: `{"minLength":7}`, names: lengths},
	{schema: `{"format":"date"}`, names: dates},
	{schema: `{"format":"ipv4"}`, names: addresses},
	{schema: `{"x-kubernetes-validations":[{"rule":"self != 'abc-xyz'","messageExpression":"'not ' + self"}]}`},
	{rule: `self.metadata.name.startsWith('a')`},
	{rule: `self.metadata.name != 'abc-xyz'`, more: `"messageExpression":"'no ' + self.metadata.name"`},
	{rule: `self.metadata.name < 'n'`},
	{rule: `self . metadata . name.matches('[0-9]$')`},
	{rule: "self.metadata // the name\n.name.matches('^[^x]*$')", more: `"message":"no x"`},
	{rule: `!has(self.metadata.name) || self.metadata.name.endsWith('z')`},
	{rule: `!has(self.spec) || !has(self.spec.owner) || self.spec.owner != self.metadata.name`},
	{rule: `[self].all(x, x.metadata.name != 'abc-xyz')`},
	{rule: `dyn(self)['meta' + 'data']['name'] != 'abc-xyz'`},
	{rule: `self.?metadata.?name.orValue('') != 'abc-xyz'`},
	{rule: `oldSelf.hasValue() || self.metadata.name in ['abc-123', 'the-end', 'old-one', 'q7r-100']`, more: `"optionalOldSelf":true`},
	{rule: `self.metadata.name == oldSelf.metadata.name && self.metadata.name != 'abc-xyz'`},
}

// drawnField is a field of a spec: its schema, and values for it. Some values are valid, others are not.
type drawnField struct{ schema, valid, others string }

// drawnFields are fields by name. Values are separated by bars.
var drawnFields = map[string]drawnField{
	"size":  {`{"type":"integer","minimum":0,"maximum":10,"default":3}`, `1|10`, `11|-1|"x"|1.5|null`},
	"odd":   {`{"type":"integer","x-kubernetes-validations":[{"rule":"self != 7","messageExpression":"'not ' + 'seven'"}]}`, `1|8`, `7|"7"|null`},
	"color": {`{"type":"string","enum":["red","blue"],"default":"blue"}`, `"red"|"blue"`, `"green"|null|1`},
	"code":  {`{"type":"string","pattern":"^[a-z]+-[0-9]+$","maxLength":12}`, `"ab-1"|"z-99"`, `"ab"|"AB-1"|"abcdef-1234567"|1`},
	"owner": {`{"type":"string","maxLength":20}`, `"abc-123"|"someone"`, `"abc-xyz"|"a name that is long, too long"`},
	"once":  {`{"type":"string","maxLength":20,"x-kubernetes-validations":[{"rule":"self == oldSelf","message":"it stays"}]}`, `"a"|"b"`, `"c"|null`},
	"first": {`{"type":"string","maxLength":20,"x-kubernetes-validations":[{"rule":"oldSelf.hasValue() ? self == oldSelf.value() : self.startsWith('k')","optionalOldSelf":true}]}`, `"k"|"kk"`, `"l"|null`},
	"when":  {`{"type":"string","format":"date-time"}`, `"2026-01-02T03:04:05Z"|"1999-12-31T23:59:59Z"`, `"2026-01-02"|"x"|5`},
	"ip":    {`{"type":"string","format":"ipv4"}`, `"10.1.2.3"`, `"10.1.2.300"|"::1"`},
	"id":    {`{"type":"string","format":"uuid"}`, `"0f3b7a52-8c1d-4e6f-9a0b-123456789abc"`, `"0f3b"`},
	"port":  {`{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`, `80|"http"`, `true|1.5`},
	"ratio": {`{"type":"number","minimum":0,"exclusiveMinimum":true,"multipleOf":0.5}`, `0.5|2`, `0|0.3|"1"`},
	"tags":  {`{"type":"array","maxItems":3,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":10}}`, `["a"]|["a","b"]`, `["a","a"]|["a","b","c","d"]|"a"`},
	"parts": {`{"type":"array","maxItems":4,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":10},"n":{"type":"integer","default":4}},"x-kubernetes-validations":[{"rule":"!has(self.n) || self.n < 9"}]}}`,
		`[{"name":"a"}]|[{"name":"a"},{"name":"b","n":1}]`, `[{"name":"a"},{"name":"a"}]|[{"n":1}]|[{"name":"a","n":9}]`},
	"either": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":"x"}|{"b":"x"}`, `{}|{"a":"x","b":"y"}`},
	"never":  {`{"type":"string","not":{"enum":["no","never"]},"anyOf":[{"pattern":"^[n-z]"},{"maxLength":2}]}`, `"yes"|"ab"`, `"no"|"abc"`},
	"free":   {`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"x":1}|{"y":{"z":[1,null]}}`, `[]|"x"`},
	"inner":  {`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}},"x-kubernetes-validations":[{"rule":"self.metadata.name != 'abc-xyz'"}]}`, `{"apiVersion":"v1","kind":"Some","metadata":{"name":"abc-123"}}`, `{"apiVersion":"v1","kind":"Some","metadata":{"name":"abc-xyz"}}|{"kind":"Some"}|{}`},
	"named":  {`{"type":"object","maxProperties":2,"additionalProperties":{"type":"integer"}}`, `{"a":1}|{"abc-xyz":2}`, `{"a":1,"b":2,"c":3}|{"a":"x"}`},
	"maybe":  {`{"type":"string","nullable":true,"default":"m"}`, `"n"|null`, `1`},
}

// drawDefinition returns the definition of a number, with a group of all of them. It has one or two versions, a rule
// about names or none, and some fields.
func drawDefinition(group string, n uint64) drawn {
	d := dice{rand.New(rand.NewPCG(n, 2))}
	plural, kind := fmt.Sprintf("drawn%ds", n), fmt.Sprintf("Drawn%d", n)
	scope, prefix := "Namespaced", "/namespaces/NS"
	if d.IntN(4) == 0 {
		scope, prefix = "Cluster", ""
	}
	versions := []string{"v1"}
	if d.IntN(2) == 0 {
		versions = append(versions, "v2")
	}
	stored, ruled := d.pick(versions...), n%4 > 0
	out := drawn{name: plural + "." + group}
	var texts []string
	for i, v := range versions {
		k := randomKind{path: "/apis/" + group + "/" + v + prefix + "/" + plural, kind: group + "/" + v + " " + kind, pool: shaped, cluster: prefix == ""}
		names := nothing
		if ruled {
			names = ruledNames[(n+uint64(i)*7)%uint64(len(ruledNames))] // neighbours have different ones
			k.ruled = true
		}
		if names.names != nil {
			k.pool = names.names
		}
		texts = append(texts, d.version(v, v == stored, names, &k))
		out.kinds = append(out.kinds, k)
	}
	out.body = fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":%q},"spec":{"group":%q,"scope":%q,"names":{"plural":%q,"kind":%q},"versions":[%s]}}`,
		out.name, group, scope, plural, kind, strings.Join(texts, ","))
	return out
}

// version returns a version of a definition, and completes its kind.
func (d dice) version(name string, stored bool, names ruledName, k *randomKind) string {
	fields := slices.Sorted(func(yield func(string) bool) {
		for f := range drawnFields {
			if !yield(f) {
				return
			}
		}
	})
	d.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	fields = append(slices.DeleteFunc(fields[:2+d.IntN(5)], func(f string) bool { return f == "owner" }), "owner") // a rule reads it
	var schemas, rest []string
	for _, f := range fields {
		of := drawnFields[f]
		schemas = append(schemas, fmt.Sprintf("%q:%s", f, of.schema))
		valid, others := strings.Split(of.valid, "|"), strings.Split(of.others, "|")
		if d.IntN(2) == 0 {
			rest = append(rest, fmt.Sprintf("%q:%s", f, d.pick(valid...)))
		}
		for _, v := range append(valid, others...) {
			k.changes = append(k.changes, fmt.Sprintf(`{"spec":{%q:%s}}`, f, v))
		}
	}
	k.rest = `"spec":{` + strings.Join(rest, ",") + `}`
	k.changes = append(k.changes, `{"spec":{"unknown":1}}`, `{"spec":null}`, `{"status":{"phase":"x","replicas":2}}`, `{"status":{"phase":7}}`)
	spec := `"type":"object","properties":{` + strings.Join(schemas, ",") + `}`
	if d.IntN(3) == 0 {
		spec += `,"default":{}`
	}
	root := `"type":"object","properties":{"spec":{` + spec + `},"status":{"type":"object","properties":{"phase":{"type":"string"},"replicas":{"type":"integer"}}}`
	if names.schema != "" {
		root += `,"metadata":{"type":"object","properties":{"name":` + strings.Replace(names.schema, "{", `{"type":"string",`, 1) + `}}`
	} else if d.IntN(2) == 0 {
		root += `,"metadata":{"type":"object"}`
	}
	root += "}"
	var rules []string
	if names.rule != "" {
		text, err := json.Marshal(names.rule)
		if err != nil {
			panic(err) // a string
		}
		rules = append(rules, strings.TrimSuffix(`{"rule":`+string(text)+`,`+names.more, ",")+"}")
	}
	if d.IntN(3) == 0 {
		rules = append(rules, `{"rule":"!has(self.spec) || has(self.spec)","message":"of no metadata"}`)
	}
	if len(rules) > 0 {
		root += `,"x-kubernetes-validations":[` + strings.Join(rules, ",") + `]`
	}
	if d.IntN(4) == 0 {
		root += `,"required":["spec"]`
	}
	out := fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{%s}}`, name, stored, root)
	if d.IntN(2) == 0 {
		out += `,"subresources":{"status":{}}`
		k.subresources = []string{"status"}
	}
	if d.IntN(2) == 0 {
		out += `,"additionalPrinterColumns":[{"name":"Name again","type":"string","jsonPath":".metadata.name"},{"name":"Of the spec","type":"` + d.pick("string", "integer", "date") + `","jsonPath":".spec.` + fields[0] + `"}]`
	}
	return out + "}"
}
