package apiserver_test

import (
	"fmt"
	"strings"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets     = "/apis/NS.example.com/v1/namespaces/NS/widgets"
)

// definition returns a CRD of the case's own group, with versions as JSON.
func definition(plural, kind, versions string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.NS.example.com"},
		"spec":{"group":"NS.example.com","scope":"Namespaced","names":{"plural":%q,"kind":%q,"shortNames":["%.2s"],"categories":["all"]},"versions":[%s]}}`,
		plural, plural, kind, plural, versions)
}

const widgetVersion = `{"name":"v1","served":true,"storage":true,
	"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
	"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Wide","type":"string","priority":1,"jsonPath":".spec.color"},{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
	"selectableFields":[{"jsonPath":".spec.color"}],
	"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{
		"spec":{"type":"object","required":["size"],
			"x-kubernetes-validations":[{"rule":"self.size <= 10 || self.color == 'red'","message":"large ones are red"},{"rule":"!has(oldSelf.once) || has(self.once) && self.once == oldSelf.once","message":"once is for ever"}],
			"properties":{"size":{"type":"integer","minimum":1},"replicas":{"type":"integer","default":1},"once":{"type":"string"},"color":{"type":"string","default":"blue","enum":["blue","red"]},
				"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
				"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}}}}}},
		"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"},"phase":{"type":"string"}}}}}}}`

func widget(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"NS.example.com/v1","kind":"Widget","metadata":{"name":%q},"spec":%s}`, name, spec)
}

// define creates the definition of Widgets and waits until they are served.
func define(s *session, plural, kind, versions string) {
	s.t.Helper()
	if a := s.post(definitions, definition(plural, kind, versions)); a.Metadata.UID == "" {
		s.t.Fatalf("%s are not defined: %.3000s", plural, a.raw)
	}
	s.await(definitions+"/"+plural+".NS.example.com", "InitialNamesAccepted")
	s.await("/apis/NS.example.com/v1", `"`+plural+`"`)
	s.await("/apis", `"NS.example.com"`)
	s.await("/apis/NS.example.com/v1/"+plural, `"items"`)
}

// customCases are about custom resources. Each case has an API group of its own.
var customCases = []conformanceCase{
	{"errors about metadata come before those of the schema", func(s *session) {
		define(s, "clues", "Clue", `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer","minimum":5}}}}}`)
		s.post("/apis/NS.example.com/v1/namespaces/NS/clues", `{"apiVersion":"NS.example.com/v1","kind":"Clue","metadata":{"name":"x","labels":{"a":"x y"}},"a":1}`)
	}},
	{"define a kind", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.get(definitions + "/widgets.NS.example.com")
		s.get("/apis/NS.example.com")
		s.get("/apis/NS.example.com/v1")
		s.get("/apis/NS.example.com/v2")
		s.get("/apis/NS.example.com/v1/namespaces/NS/gadgets")
		s.get("/apis/NS.example.com/v1/widgets/x")
	}},
	{"documents of custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.await("/openapi/v3", `"apis/NS.example.com/v1"`)
		s.get("/openapi/v3/apis/NS.example.com/v1")
	}},
	{"custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(widgets, widget("a", `{"size":3,"free":{"x":[1,{"y":null}]},"unknown":{"z":1}}`))
		s.get(widgets + "/a")
		s.post(widgets+"?fieldValidation=Strict", widget("b", `{"size":3,"unknown":1}`))
		s.post(widgets, widget("b", `{"size":"large"}`))
		s.post(widgets, widget("b", `{"size":0,"color":"green"}`))
		s.post(widgets, widget("b", `{}`))
		s.post(widgets, widget("b", `{"size":11}`))
		s.post(widgets, widget("b", `{"size":11,"color":"red","once":"x"}`))
		s.post(widgets, strings.Replace(widget("c", `{"size":1}`), `"Widget"`, `"Gadget"`, 1))
		s.post(widgets, widget("", `{"size":1}`))
		s.post(widgets, strings.Replace(widget("x", `{"size":1}`), `"name":"x"`, `"generateName":"made-"`, 1))
		s.patch(mergePatch, widgets+"/b", `{"spec":{"once":"y"}}`)
		s.patch(mergePatch, widgets+"/b", `{"metadata":{"labels":{"l":"1"}}}`)
		s.patch(jsonPatch, widgets+"/b", `[{"op":"replace","path":"/spec/size","value":4}]`)
		s.patch(strategic, widgets+"/b", `{"spec":{"size":5}}`)
		s.patch(mergePatch, widgets+"/b", `{"status":{"phase":"Ready"}}`)
		s.patch(mergePatch, widgets+"/b/status", `{"spec":{"size":9},"status":{"phase":"Ready","replicas":2,"selector":"a=b"}}`)
		s.patch(mergePatch, widgets+"/b/status", `{"status":{"phase":7}}`)
		s.get(widgets + "/b/scale")
		s.patch(mergePatch, widgets+"/b/scale", `{"spec":{"replicas":5}}`)
		b := s.get(widgets + "/b")
		s.put(widgets+"/b", b.raw)
		s.do("GET", widgets, "", "Accept", acceptTable)
		s.do("GET", widgets, "", "Accept", strings.ReplaceAll(acceptPartial, "Metadata;", "MetadataList;"))
		s.do("GET", widgets+"/b", "", "Accept", acceptPartial)
		s.get(widgets + "?fieldSelector=spec.color%3Dred")
		s.get(widgets + "?fieldSelector=spec.size%3D3")
		s.get(widgets + "?limit=1&labelSelector=l")
		s.delete(widgets+"/a", "")
		s.get(widgets + "/a")
		s.delete(widgets+"/b", `{"propagationPolicy":"Foreground"}`)
	}},
	{"apply custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.patch(applyPatch, widgets+"/a?fieldManager=one", widget("a", `{"size":3,"parts":[{"name":"x","n":1}]}`))
		s.patch(applyPatch, widgets+"/a?fieldManager=two", widget("a", `{"size":3,"parts":[{"name":"y","n":2}]}`))
		s.patch(applyPatch, widgets+"/a?fieldManager=two", widget("a", `{"size":4,"parts":[{"name":"y","n":2}]}`))
		s.patch(applyPatch, widgets+"/a?fieldManager=one", widget("a", `{"size":3}`))
		s.patch(applyPatch, widgets+"/a/status?fieldManager=three", `{"apiVersion":"NS.example.com/v1","kind":"Widget","metadata":{"name":"a"},"status":{"phase":"Ready"}}`)
		s.get(widgets + "/a")
	}},
	{"watch custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		a := s.post(widgets, widget("a", `{"size":1}`))
		w := s.watch(widgets + "?watch=true&fieldSelector=spec.color%3Dred&resourceVersion=" + a.Metadata.ResourceVersion)
		s.patch(mergePatch, widgets+"/a", `{"spec":{"color":"red"}}`)
		s.patch(mergePatch, widgets+"/a", `{"spec":{"size":2}}`)
		s.delete(widgets+"/a", "")
		w.next(3)
	}},
	{"versions of custom resources", func(s *session) {
		open := `"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}`
		define(s, "gadgets", "Gadget", `{"name":"v1beta1","served":true,"storage":false,"deprecated":true,`+open+`},{"name":"v1","served":true,"storage":true,`+open+`},{"name":"v2","served":false,"storage":false,`+open+`}`)
		s.get("/apis/NS.example.com")
		path := "/apis/NS.example.com/v1beta1/namespaces/NS/gadgets"
		s.post(path, `{"apiVersion":"NS.example.com/v1beta1","kind":"Gadget","metadata":{"name":"a"},"anything":[1,"x"]}`)
		s.get(path + "/a")
		s.get(path)
		s.get(strings.Replace(path, "v1beta1", "v1", 1) + "/a")
		s.get(strings.Replace(path, "v1beta1", "v2", 1) + "/a")
	}},
	{"deletions through another version", func(s *session) { // which has none of the fields
		version := func(name string, storage bool, field string) string {
			return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{%q:{"type":"string","default":"d"}}}}}}}`, name, storage, field)
		}
		define(s, "gadgets", "Gadget", version("v1", true, "one")+","+version("v2", false, "two"))
		v1, v2 := "/apis/NS.example.com/v1/namespaces/NS/gadgets", "/apis/NS.example.com/v2/namespaces/NS/gadgets"
		s.await(v2, `"items"`)
		a := s.post(v1, `{"apiVersion":"NS.example.com/v1","kind":"Gadget","metadata":{"name":"a","annotations":{"x":"<&>"}},"spec":{"one":"1"}}`)
		s.post(v2, `{"apiVersion":"NS.example.com/v2","kind":"Gadget","metadata":{"name":"b"},"spec":{"two":"2"}}`)
		w1, w2 := s.watch(v1+"?watch=1&resourceVersion="+a.Metadata.ResourceVersion), s.watch(v2+"?watch=1&resourceVersion="+a.Metadata.ResourceVersion)
		s.delete(v2+"/a", "")
		s.delete(v1+"/b", "")
		w1.next(3)
		w2.next(3)
	}},
	{"definitions that are not valid", func(s *session) {
		s.post(definitions, definition("widgets", "Widget", `{"name":"v1","served":true,"storage":true}`))
		s.post(definitions, definition("widgets", "Widget", `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"properties":{"a":{"type":"nonsense"}}}}}}}`))
		s.post(definitions, definition("widgets", "Widget", `{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`))
		s.post(definitions, strings.Replace(definition("widgets", "Widget", widgetVersion), `"name":"widgets.NS`, `"name":"other.NS`, 1))
		s.post(definitions, strings.Replace(definition("widgets", "Widget", widgetVersion), "self.size <= 10", "self.nothing <= 10", 1))
		s.get("/apis/NS.example.com")
	}},
	{"names of definitions", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(definitions, definition("wizards", "Widget", widgetVersion))
		s.await(definitions+"/wizards.NS.example.com", "NamesAccepted")
		s.get(definitions + "/wizards.NS.example.com")
		s.get("/apis/NS.example.com/v1/namespaces/NS/wizards")
		s.delete(definitions+"/widgets.NS.example.com", "")
		s.await(definitions+"/wizards.NS.example.com", "InitialNamesAccepted")
		s.get(definitions + "/wizards.NS.example.com")
	}},
	{"a definition changes", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(widgets, widget("a", `{"size":1}`))
		s.patch(jsonPatch, definitions+"/widgets.NS.example.com", `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/later","value":{"type":"string","default":"now"}}]`)
		s.await(widgets+"/a", "later")
		s.get(widgets + "/a")
		s.get(widgets)
		s.patch(mergePatch, widgets+"/a", `{"metadata":{"labels":{"x":"y"}}}`)
	}},
	{"a definition goes", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.post(widgets, widget("a", `{"size":1}`))
		s.post(widgets, widget("b", `{"size":1}`))
		s.delete(definitions+"/widgets.NS.example.com", "")
		s.await(definitions+"/widgets.NS.example.com", "NotFound")
		s.await(widgets+"/a", "404")
		s.get(definitions + "/widgets.NS.example.com")
		s.get(widgets + "/a")
		s.post(widgets, widget("a", `{"size":1}`))
	}},
	{"watches of a definition that goes", func(s *session) {
		versions := widgetVersion + "," + strings.Replace(widgetVersion, `"v1","served":true,"storage":true`, `"v1beta1","served":true,"storage":false`, 1)
		define(s, "widgets", "Widget", versions)
		beta := strings.Replace(widgets, "/v1/", "/v1beta1/", 1)
		s.await(beta, `"items"`)
		a := s.post(widgets, widget("a", `{"size":1,"color":"red"}`))
		since := "?watch=true&resourceVersion=" + a.Metadata.ResourceVersion
		watches := []*events{
			s.watch(widgets + since), s.watch(beta + since), s.watch(beta + since + "&fieldSelector=spec.color%3Dred"),
			s.watch(widgets+since, "Accept", acceptTable), s.watch(beta+since, "Accept", acceptTable),
			s.watch(widgets+since, "Accept", acceptPartial), s.watch(widgets+since, "Accept", protobufType+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
		}
		s.delete(definitions+"/widgets.NS.example.com", "")
		for _, w := range watches {
			w.next(1)
		}
	}},
}
