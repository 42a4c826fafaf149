package apiserver_test

import (
	"fmt"
	"strings"
)

// schemaCase is a schema of the field spec, and values of it. An object is created with each value. A pair of values
// also updates the object from the first to the second.
type schemaCase struct {
	name, spec string
	values     [][2]string
}

var schemaCases = []schemaCase{
	{"pruning", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}},"map":{"type":"object","additionalProperties":{"type":"object","properties":{"y":{"type":"boolean"}}}}}}`,
		[][2]string{{`{"a":{"b":"x","c":1},"d":2}`, `{"e":1}`}, {`{"list":[{"x":1,"z":2}],"map":{"k":{"y":true,"q":1}}}`, ""}, {`{"a":null,"list":null}`, ""}}},
	{"preserving", `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},"c":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
		[][2]string{{`{"free":{"x":1},"a":{"b":"x","gone":1},"c":{"kept":1}}`, `{"free":null}`}, {`{"c":1}`, ""}}},
	{"int or string", `{"type":"object","properties":{"p":{"x-kubernetes-int-or-string":true},"q":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"pattern":"^[0-9]+%?$"}}}`,
		[][2]string{{`{"p":1,"q":"5%"}`, `{"p":"x"}`}, {`{"p":1.5}`, ""}, {`{"p":{}}`, ""}, {`{"q":"x"}`, ""}}},
	{"embedded resources", `{"type":"object","properties":{"r":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},"s":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}`,
		[][2]string{{`{"r":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","odd":1},"data":{"a":"b"}}}`, ""}, {`{"r":{"kind":"ConfigMap"}}`, ""}, {`{"r":{"apiVersion":"a/b/c","kind":"x y","metadata":{"name":"Not Valid"}}}`, ""}, {`{"s":{"apiVersion":"v1","kind":"X","metadata":{"labels":{"a":"not valid"}},"spec":{"x":1},"gone":1}}`, ""}}},
	{"defaults", `{"type":"object","default":{"deep":{"a":"whole"}},"properties":{"n":{"type":"integer","default":3},"s":{"type":"string","default":""},"deep":{"type":"object","default":{},"properties":{"a":{"type":"string","default":"x"},"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"integer","default":1}}}}}},"nul":{"type":"string","nullable":true,"default":"d"}}}`,
		[][2]string{{`{}`, `{"n":5}`}, {`{"n":null,"nul":null,"deep":{"b":[{},{"c":2}]}}`, ""}, {`null`, ""}}},
	{"nullable", `{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"string"},"c":{"type":"array","nullable":true,"items":{"type":"string","nullable":true}}}}`,
		[][2]string{{`{"a":null,"c":null}`, ""}, {`{"b":null}`, ""}, {`{"c":["x",null]}`, ""}}},
	{"formats", `{"type":"object","properties":{"date":{"type":"string","format":"date"},"time":{"type":"string","format":"date-time"},"ip":{"type":"string","format":"ipv4"},"uuid":{"type":"string","format":"uuid"},"bytes":{"type":"string","format":"byte"},"dur":{"type":"string","format":"duration"},"email":{"type":"string","format":"email"},"i32":{"type":"integer","format":"int32"},"cidr":{"type":"string","format":"cidr"},"label":{"type":"string","format":"k8s-short-name"}}}`,
		[][2]string{{`{"date":"2026-01-01","time":"2026-01-01T00:00:00Z","ip":"1.2.3.4","uuid":"11111111-2222-3333-4444-555555555555","bytes":"AAEC","dur":"1h","email":"a@b.example","i32":1,"cidr":"10.0.0.0/8","label":"a-b"}`, ""}, {`{"date":"x"}`, ""}, {`{"time":"x"}`, ""}, {`{"ip":"x"}`, ""}, {`{"uuid":"x"}`, ""}, {`{"bytes":"?"}`, ""}, {`{"dur":"x"}`, ""}, {`{"email":"x"}`, ""}, {`{"i32":9999999999}`, ""}, {`{"cidr":"x"}`, ""}, {`{"label":"Not Valid"}`, ""}}},
	{"bounds", `{"type":"object","minProperties":1,"maxProperties":3,"properties":{"n":{"type":"integer","minimum":1,"maximum":5,"multipleOf":2},"x":{"type":"number","exclusiveMinimum":true,"minimum":0},"s":{"type":"string","minLength":2,"maxLength":4,"pattern":"^a"},"e":{"type":"string","enum":["p","q"]},"l":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"integer"}}}}`,
		[][2]string{{`{"n":2}`, `{"n":3}`}, {`{"n":6}`, ""}, {`{}`, ""}, {`{"x":0}`, ""}, {`{"s":"b"}`, ""}, {`{"s":"abcde"}`, ""}, {`{"e":"r"}`, ""}, {`{"l":[]}`, ""}, {`{"l":[1,2,3]}`, ""}, {`{"n":2,"s":"ab","e":"p","l":[1]}`, ""}}},
	{"logic", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"properties":{"a":{"enum":[7]}},"required":["a"]}}`,
		[][2]string{{`{"a":1}`, `{"b":1}`}, {`{"a":1,"b":1}`, ""}, {`{}`, ""}, {`{"a":7}`, ""}}},
	{"sets", `{"type":"object","properties":{"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},"t":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string"}},"m":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}}}}`,
		[][2]string{{`{"s":["a","b"],"t":["a","a"],"m":{"a":"b"}}`, `{"s":["b","c"]}`}, {`{"s":["a","a"]}`, ""}}},
	{"maps", `{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","p"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"p":{"type":"string","default":"tcp"},"v":{"type":"integer"}}}}}}`,
		[][2]string{{`{"l":[{"k":"a","v":1},{"k":"a","p":"udp"}]}`, `{"l":[{"k":"b"}]}`}, {`{"l":[{"k":"a"},{"k":"a","p":"tcp"}]}`, ""}, {`{"l":[{"v":1}]}`, ""}}},
	{"rules", `{"type":"object","x-kubernetes-validations":[{"rule":"self.a < self.b","message":"a is smaller"},{"rule":"self.b != 13","messageExpression":"self.b > 5 ? 'b is more' : 'b is less'","reason":"FieldValueForbidden","fieldPath":".b"},{"rule":"self.b != 14","reason":"FieldValueDuplicate"},{"rule":"self.b != 15","reason":"FieldValueRequired","message":"x","fieldPath":".a"}],"required":["a","b"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`,
		[][2]string{{`{"a":1,"b":2}`, `{"a":3,"b":2}`}, {`{"a":1,"b":13}`, ""}, {`{"a":1,"b":14}`, ""}, {`{"a":1,"b":15}`, ""}, {`{"a":20,"b":13}`, ""}}},
	{"transitions", `{"type":"object","properties":{"once":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"once is for ever"}]},"up":{"type":"integer","x-kubernetes-validations":[{"rule":"!oldSelf.hasValue() || self >= oldSelf.value()","optionalOldSelf":true}]},"list":{"type":"array","maxItems":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"x-kubernetes-validations":[{"rule":"self.v >= oldSelf.v"}],"properties":{"k":{"type":"string","maxLength":5},"v":{"type":"integer","default":0}}}}}}`,
		[][2]string{{`{"once":"a","up":3,"list":[{"k":"x","v":2}]}`, `{"once":"b"}`}, {`{"once":"a","up":3,"list":[{"k":"x","v":2}]}`, `{"once":"a","up":2}`}, {`{"up":1}`, `{"once":"late","up":1}`}, {`{"list":[{"k":"x","v":2}]}`, `{"list":[{"k":"x","v":1}]}`}, {`{"list":[{"k":"x","v":2}]}`, `{"list":[{"k":"y","v":1}]}`}}},
	{"library of rules", `{"type":"object","properties":{"url":{"type":"string","maxLength":50,"x-kubernetes-validations":[{"rule":"isURL(self) && url(self).getScheme() == 'https'"}]},"q":{"type":"string","maxLength":20,"x-kubernetes-validations":[{"rule":"isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))"}]},"ip":{"type":"string","maxLength":50,"x-kubernetes-validations":[{"rule":"isIP(self) && ip(self).family() == 4"}]},"l":{"type":"array","maxItems":5,"items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"self.isSorted() && self.sum() < 10"}]},"s":{"type":"string","maxLength":30,"x-kubernetes-validations":[{"rule":"self.matches('^a+$') && self.split('a').size() > 2"}]},"v":{"type":"string","maxLength":20,"x-kubernetes-validations":[{"rule":"isSemver(self)"}]}}}`,
		[][2]string{{`{"url":"https://x.example","q":"2Gi","ip":"1.2.3.4","l":[1,2],"s":"aaa","v":"1.2.3"}`, ""}, {`{"url":"http://x"}`, ""}, {`{"url":"x"}`, ""}, {`{"q":"x"}`, ""}, {`{"q":"1"}`, ""}, {`{"ip":"::1"}`, ""}, {`{"l":[2,1]}`, ""}, {`{"l":[9,9]}`, ""}, {`{"s":"b"}`, ""}, {`{"v":"x"}`, ""}}},
}

// structureCases are about the features of definitions.
func structureCases() []conformanceCase {
	var cases []conformanceCase
	add := func(name string, run func(*session)) { cases = append(cases, conformanceCase{name, run}) }
	version := func(name, spec string, more ...string) string {
		return `{"name":"` + name + `","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + spec + `,"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}` + strings.Join(more, "") + `}`
	}
	for _, c := range schemaCases {
		add("schema: "+c.name, func(s *session) {
			define(s, "widgets", "Widget", version("v1", c.spec))
			for i, v := range c.values {
				name := fmt.Sprintf("w%d", i)
				s.post(widgets, widget(name, v[0]))
				s.post(widgets+"?dryRun=All&fieldValidation=Strict", widget(name+"s", v[0]))
				s.patch(applyPatch, widgets+"/"+name+"a?fieldManager=m", widget(name+"a", v[0]))
				if v[1] != "" {
					got := s.get(widgets + "/" + name)
					s.put(widgets+"/"+name, strings.Replace(widget(name, v[1]), `"name"`, `"resourceVersion":"`+got.Metadata.ResourceVersion+`","name"`, 1))
					s.patch(mergePatch, widgets+"/"+name, `{"spec":`+v[1]+`}`)
					s.patch(applyPatch, widgets+"/"+name+"?fieldManager=m&force=true", widget(name, v[1]))
					s.patch(applyPatch, widgets+"/"+name+"a?fieldManager=n", widget(name+"a", v[1]))
				}
			}
			s.get(widgets)
			s.do("GET", widgets, "", "Accept", acceptTable)
			s.get("/openapi/v3/apis/NS.example.com/v1")
		})
		add("ratcheting: "+c.name, func(s *session) {
			define(s, "widgets", "Widget", version("v1", `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`))
			for i, v := range c.values {
				s.post(widgets, widget(fmt.Sprintf("w%d", i), v[0]))
			}
			// The schema is set later. Values that are not valid stay while they do not change.
			s.patch(jsonPatch, definitions+"/widgets.NS.example.com", `[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec","value":`+c.spec+`}]`)
			s.settle()
			for i, v := range c.values {
				one := widgets + fmt.Sprintf("/w%d", i)
				s.get(one)
				s.patch(mergePatch, one, `{"metadata":{"labels":{"a":"b"}}}`)
				s.patch(mergePatch, one, `{"status":{"x":1}}`)
				if v[1] != "" {
					s.patch(mergePatch, one, `{"spec":`+v[1]+`}`)
				}
			}
		})
	}
	invalid := []string{
		`{"type":"string","default":1}`, `{"type":"object","default":{"a":1},"properties":{"a":{"type":"string"}}}`, `{"type":"nothing"}`, `{"properties":{}}`, `{"type":"array"}`, `{"type":"array","items":[{"type":"string"}]}`, `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`,
		`{"type":"object","x-kubernetes-embedded-resource":true}`, `{"type":"string","x-kubernetes-int-or-string":true}`, `{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"map"}`, `{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["x"]}`, `{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"odd"}`, `{"type":"object","x-kubernetes-map-type":"odd"}`,
		`{"type":"object","x-kubernetes-validations":[{"rule":"self.x"}]}`, `{"type":"object","x-kubernetes-validations":[{"rule":""}]}`, `{"type":"object","x-kubernetes-validations":[{"rule":"1"}]}`, `{"type":"object","x-kubernetes-validations":[{"rule":"true","messageExpression":"1"}]}`, `{"type":"object","x-kubernetes-validations":[{"rule":"true","reason":"Odd"}]}`, `{"type":"object","x-kubernetes-validations":[{"rule":"true","fieldPath":".nothing"}]}`, `{"type":"object","x-kubernetes-validations":[{"rule":"true","message":"a\nb"}]}`,
		`{"type":"array","items":{"type":"string","x-kubernetes-validations":[{"rule":"self.matches(self)"}]}}`, `{"type":"object","anyOf":[{"type":"object"}]}`, `{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`, `{"type":"object","$ref":"x"}`, `{"type":"object","uniqueItems":true}`, `{"type":"array","uniqueItems":true,"items":{"type":"string"}}`, `{"type":"object","nullable":true,"required":["a"]}`, `{"type":"object","enum":[1]}`, `{"type":"string","format":"odd"}`, `{"type":"integer","minimum":5,"maximum":1}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":false}`, `{"type":"object","unknown":1}`, `{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","pattern":"^a"}}}}}`,
	}
	for i := 0; i < len(invalid); i += 6 {
		add(fmt.Sprintf("schemas that are not valid from %d", i), func(s *session) {
			for _, spec := range invalid[i:min(len(invalid), i+6)] {
				s.post(definitions+"?dryRun=All&fieldValidation=Strict", definition("widgets", "Widget", version("v1", spec)))
			}
		})
	}
	for _, m := range mutantsOfDefinition {
		add("a definition with "+m[0], func(s *session) {
			body := strings.Replace(definition("widgets", "Widget", widgetVersion), m[1], m[2], 1)
			if body == definition("widgets", "Widget", widgetVersion) {
				s.t.Fatalf("%s changes nothing", m[0])
			}
			s.post(definitions+"?dryRun=All", body)
			s.post(definitions+"?dryRun=All&fieldValidation=Strict", body)
		})
	}
	add("definitions in all forms", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		one := definitions + "/widgets.NS.example.com"
		for _, accept := range accepts {
			s.do("GET", one, "", "Accept", accept)
		}
		s.patch(mergePatch, one, `{"metadata":{"labels":{"case":"NS"}}}`)
		for _, accept := range acceptLists {
			s.do("GET", definitions+"?labelSelector=case%3DNS", "", "Accept", accept)
		}
	})
	add("custom resources in all forms", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		a := s.post(widgets, widget("a", `{"size":1}`))
		s.patch(mergePatch, widgets+"/a", `{"spec":{"size":2}}`)
		s.delete(widgets+"/a", "")
		s.post(widgets, widget("b", `{"size":1}`))
		for _, accept := range accepts {
			s.do("GET", widgets+"/b", "", "Accept", accept)
		}
		for i, accept := range acceptLists {
			s.do("GET", widgets, "", "Accept", accept)
			s.do("POST", widgets+"?dryRun=All", widget(fmt.Sprintf("c%d", i), `{"size":1}`), "Accept", accept)
		}
		for _, accept := range []string{jsonType, acceptTable, acceptPartial, protobufType, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"} {
			s.watch(widgets+"?watch=1&resourceVersion="+a.Metadata.ResourceVersion, "Accept", accept).next(3)
		}
		s.do("POST", widgets, widget("y", `{"size":1}`), "Content-Type", yamlType)
	})
	add("two versions", func(s *session) {
		open := `"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}`
		define(s, "gadgets", "Gadget", `{"name":"v1","served":true,"storage":true,`+open+`},{"name":"v2","served":true,"storage":false,`+open+`}`)
		in := func(v string) string { return "/apis/NS.example.com/" + v + "/namespaces/NS/gadgets" }
		body := func(v, name, more string) string {
			return `{"apiVersion":"NS.example.com/` + v + `","kind":"Gadget","metadata":{"name":"` + name + `"}` + more + `}`
		}
		a := s.post(in("v1"), body("v1", "a", `,"x":1`))
		s.post(in("v2"), body("v2", "b", `,"x":2`))
		s.post(in("v2"), body("v1", "c", ""))
		s.patch(applyPatch, in("v2")+"/a?fieldManager=m", body("v2", "a", `,"y":1`))
		s.patch(applyPatch, in("v1")+"/a?fieldManager=m", body("v1", "a", `,"z":1`))
		s.put(in("v2")+"/a", body("v2", "a", ``))
		s.get(in("v2"))
		s.watch(in("v2") + "?watch=1&resourceVersion=" + a.Metadata.ResourceVersion).next(2)
		// The storage version changes.
		s.patch(jsonPatch, definitions+"/gadgets.NS.example.com", `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`)
		s.get(definitions + "/gadgets.NS.example.com")
	})
	add("generation of custom resources", func(s *session) {
		define(s, "widgets", "Widget", version("v1", `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`))
		s.post(widgets, widget("a", `{"x":1}`))
		s.patch(mergePatch, widgets+"/a", `{"status":{"y":1}}`)
		s.patch(mergePatch, widgets+"/a", `{"metadata":{"annotations":{"y":"1"}}}`)
		s.patch(mergePatch, widgets+"/a", `{"spec":{"y":1}}`)
		s.get(widgets + "/a/status")
		s.get(widgets + "/a/scale")
		s.patch(jsonPatch, definitions+"/widgets.NS.example.com", `[{"op":"add","path":"/spec/versions/0/subresources","value":{"status":{}}}]`)
		s.settle()
		s.patch(mergePatch, widgets+"/a", `{"status":{"y":2},"spec":{"z":1}}`)
		s.patch(mergePatch, widgets+"/a/status", `{"status":{"y":3},"spec":{"z":2}}`)
		s.post(widgets, widget("b", `{"x":1},"status":{"gone":1}`))
	})
	add("printer columns", func(s *session) {
		columns := `,"additionalPrinterColumns":[{"name":"N","type":"integer","jsonPath":".spec.n"},{"name":"S","type":"string","jsonPath":".spec.s","description":"D"},{"name":"B","type":"boolean","jsonPath":".spec.b"},{"name":"F","type":"number","format":"double","jsonPath":".spec.f"},{"name":"D","type":"date","jsonPath":".spec.d"},{"name":"L","type":"string","jsonPath":".spec.l[*].x"},{"name":"First","type":"string","jsonPath":".spec.l[0].x"},{"name":"If","type":"string","jsonPath":".spec.l[?(@.x=='b')].y"},{"name":"O","type":"string","jsonPath":".spec.o"},{"name":"Wide","priority":1,"type":"string","jsonPath":".metadata.name"}]`
		define(s, "widgets", "Widget", version("v1", `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, columns))
		s.post(widgets, widget("a", `{"n":1,"s":"x","b":true,"f":1.5,"d":"2020-01-01T00:00:00Z","l":[{"x":"a"},{"x":"b","y":"z"}],"o":{"p":[1]}}`))
		s.post(widgets, widget("b", `{"n":"not","s":5,"b":"x","f":"y","d":"z","l":{},"o":null}`))
		s.post(widgets, widget("c", `{}`))
		s.do("GET", widgets, "", "Accept", acceptTable)
		s.do("GET", widgets+"/a", "", "Accept", acceptTable)
	})
	add("scale of custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(widgets, widget("a", `{"size":1}`))
		const scaled = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"NS"},"spec":{"replicas":4}}`
		one := widgets + "/a/scale"
		s.get(one)
		s.put(one, scaled)
		s.put(one, strings.Replace(scaled, "4", "-1", 1))
		s.put(one, strings.Replace(scaled, `"a"`, `"b"`, 1))
		s.put(one, strings.Replace(scaled, `"name"`, `"resourceVersion":"1","name"`, 1))
		s.patch(mergePatch, one, `{"spec":{"replicas":5}}`)
		s.patch(jsonPatch, one, `[{"op":"replace","path":"/spec/replicas","value":6}]`)
		s.patch(strategic, one, `{"spec":{"replicas":7}}`)
		s.patch(applyPatch, one+"?fieldManager=m&force=true", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":8}}`)
		s.patch(mergePatch, widgets+"/a/status", `{"status":{"replicas":8,"selector":"a=b"}}`)
		s.get(one)
		s.do("GET", one, "", "Accept", acceptTable)
		s.get(widgets + "/a")
	})
	add("fields of custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		for i, color := range []string{"red", "blue", "red"} {
			s.post(widgets, widget(fmt.Sprintf("w%d", i), `{"size":1,"color":"`+color+`"}`))
		}
		for _, f := range []string{"spec.color=red", "spec.color!=red", "spec.color=red,metadata.name=w2", "spec.size=1", "metadata.namespace=NS", "spec.color=", "status.phase=x"} {
			s.get(widgets + "?fieldSelector=" + escape(strings.ReplaceAll(f, "NS", s.ns)))
		}
		s.send("DELETE", s.path(widgets+"?fieldSelector=spec.color%3Dred"), "")
		s.get(widgets)
	})
	add("a cluster-wide kind", func(s *session) {
		body := strings.Replace(definition("gizmos", "Gizmo", version("v1", `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`)), "Namespaced", "Cluster", 1)
		s.post(definitions, body)
		s.await("/apis/NS.example.com/v1/gizmos", `"items"`)
		const path = "/apis/NS.example.com/v1/gizmos"
		s.post(path, `{"apiVersion":"NS.example.com/v1","kind":"Gizmo","metadata":{"name":"a"}}`)
		s.post(path, `{"apiVersion":"NS.example.com/v1","kind":"Gizmo","metadata":{"name":"b","namespace":"NS"}}`)
		s.post("/apis/NS.example.com/v1/namespaces/NS/gizmos", `{"apiVersion":"NS.example.com/v1","kind":"Gizmo","metadata":{"name":"c"}}`)
		s.get(path)
		s.get("/apis/NS.example.com/v1")
		s.delete(path+"/a", "")
	})
	add("a definition with objects that have finalizers", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(widgets, strings.Replace(widget("a", `{"size":1}`), `"name"`, `"finalizers":["example.com/x"],"name"`, 1))
		s.delete(definitions+"/widgets.NS.example.com", "")
		s.await(definitions+"/widgets.NS.example.com", "InstanceDeletionInProgress")
		s.await(widgets+"/a", "deletionTimestamp")
		s.settle()
		s.get(definitions + "/widgets.NS.example.com")
		s.get(widgets + "/a")
		s.post(widgets, widget("b", `{"size":1}`))
		s.patch(mergePatch, widgets+"/a", `{"metadata":{"finalizers":null}}`)
		s.await(definitions+"/widgets.NS.example.com", "NotFound")
		s.get(definitions + "/widgets.NS.example.com")
	})
	return cases
}

// mutantsOfDefinition has changes of the definition of Widgets: a name, a text in it, and the text that replaces it.
var mutantsOfDefinition = [][3]string{
	{"no plural", `"plural":"widgets",`, ``}, {"another scope", `"Namespaced"`, `"Odd"`}, {"a capital plural", `"plural":"widgets"`, `"plural":"Widgets"`}, {"a kind with a space", `"kind":"Widget"`, `"kind":"Wid get"`}, {"a short name in capitals", `"shortNames":["wi"]`, `"shortNames":["WI"]`}, {"no versions", widgetVersion, ``},
	{"a bad version", `"name":"v1","served"`, `"name":"V 1","served"`}, {"no schema", `"schema":{"openAPIV3Schema":`, `"other":{"x":`}, {"a bad scale path", `".spec.replicas"`, `"spec.replicas"`}, {"a scale path in status", `".spec.replicas"`, `".status.replicas"`}, {"a bad column", `"jsonPath":".spec.size"`, `"jsonPath":"spec["`}, {"a bad column type", `"type":"integer","jsonPath"`, `"type":"odd","jsonPath"`},
	{"a selectable field that is not there", `"selectableFields":[{"jsonPath":".spec.color"}]`, `"selectableFields":[{"jsonPath":".spec.nothing"}]`}, {"a selectable field of an object", `"selectableFields":[{"jsonPath":".spec.color"}]`, `"selectableFields":[{"jsonPath":".spec.free"}]`}, {"two selectable fields of one name", `"selectableFields":[{"jsonPath":".spec.color"}]`, `"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.color"}]`}, {"no served version", `"served":true`, `"served":false`}, {"no stored version", `"storage":true`, `"storage":false`},
	{"preserveUnknownFields", `"scope"`, `"preserveUnknownFields":true,"scope"`}, {"a conversion of None", `"scope"`, `"conversion":{"strategy":"None"},"scope"`}, {"an odd conversion", `"scope"`, `"conversion":{"strategy":"Odd"},"scope"`}, {"a conversion without a webhook", `"scope"`, `"conversion":{"strategy":"Webhook"},"scope"`}, {"a group of the project", `"group":"NS.example.com"`, `"group":"x.k8s.io"`}, {"another name", `"name":"widgets.NS.example.com"`, `"name":"gadgets.NS.example.com"`}, {"deprecation", `"served":true`, `"served":true,"deprecated":true,"deprecationWarning":"old"`},
	{"a warning without deprecation", `"served":true`, `"served":true,"deprecationWarning":"old"`}, {"a list kind", `"kind":"Widget"`, `"kind":"Widget","listKind":"Widget"`}, {"a singular", `"kind":"Widget"`, `"kind":"Widget","singular":"Not Valid"`}, {"an odd category", `"categories":["all"]`, `"categories":["A B"]`}, {"an unknown field", `"scope"`, `"odd":1,"scope"`},
}
