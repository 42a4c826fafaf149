package apiserver_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// applies applies an object as two managers.
func (k *kindTalk) applies() {
	one := k.one("a")
	apply := func(query, body string) answer { return k.patch(applyPatch, one+query, body) }
	const name = "?fieldManager="
	apply("", k.body("a"))
	apply(name+"one", k.body("a"))
	apply(name+"one", k.body("a"))
	apply(name+"one", k.body("a", `"annotations":{"n":"1"}`))
	apply(name+"two", k.body("a", `"annotations":{"n":"2"}`))
	apply(name+"two&force=true&dryRun=All", k.body("a", `"annotations":{"n":"2"}`))
	apply(name+"two&force=true", k.body("a", `"annotations":{"n":"2"}`))
	apply(name+"one", k.body("a", `"annotations":{"m":"1"}`))
	apply(name+"one", k.object(`"name":"`+k.name("a")+`"`, ""))
	apply(name+"two", k.object(`"name":"`+k.name("a")+`","labels":{"case":"NS"}`, ""))
	apply(name+"two&fieldValidation=Strict", k.body("a", `"odd":1`))
	apply(name+"two", k.body("a", `"odd":1`))
	apply(name+"two", k.body("a", `"managedFields":[{"manager":"x"}]`))
	apply(name+"two", k.body("a", `"resourceVersion":"1"`))
	apply(name+"two", k.body("a", `"uid":"other"`))
	apply(name+"two", k.body("b"))
	apply(name+"two", strings.Replace(k.body("a"), k.short, "Nothing", 1))
	apply(name+"two", strings.Replace(k.body("a"), `"`+k.apiVersion+`"`, `"v7"`, 1))
	apply(name+"two", `{}`)
	apply(name+"two", `[]`)
	apply(name+"two", `{`)
	apply(name+"two", ``)
	apply(name+strings.Repeat("x", 130), k.body("a"))
	apply(name+"%0A", k.body("a"))
	k.patch(applyPatch, k.one("new")+name+"one", k.object(`"name":"`+k.name("new")+`"`, ""))
	k.patch(applyPatch, k.one("gen")+name+"one", k.object(`"generateName":"x-"`, k.rest))
	k.patch(mergePatch, one+"?fieldManager=three", `{"metadata":{"labels":{"three":"3"}}}`)
	apply(name+"one", k.body("a", `"labels":{"three":"1"}`))
	k.put(one+name+"four", k.body("a", `"labels":{"four":"4"}`))
	k.patch(mergePatch, one, `{"metadata":{"managedFields":[{}]}}`)
	apply(name+"one&force=true", k.body("a"))
	k.get(one)
}

// statuses reads and changes the status and the other subresources.
func (k *kindTalk) statuses() {
	first := k.make("a")
	one := k.one("a")
	status := k.status
	if status == "" {
		status = `{"x":1}`
	}
	k.get(one + "/status")
	k.patch(mergePatch, one+"/status", `{"metadata":{"labels":{"l":"1"},"annotations":{"a":"b"}},"status":`+status+`}`)
	k.patch(mergePatch, one+"/status?dryRun=All", `{"status":null}`)
	k.patch(strategic, one+"/status", `{"status":`+status+`}`)
	k.patch(jsonPatch, one+"/status?dryRun=All", `[{"op":"add","path":"/status","value":{}}]`)
	k.patch(jsonPatch, one+"/status", `[{"op":"add","path":"/metadata/labels","value":{"m":"n"}}]`)
	k.put(one+"/status", first.raw)
	got := k.get(one)
	k.put(one+"/status", got.raw)
	k.put(one+"/status", k.object(`"name":"`+k.name("a")+`"`, k.rest+`,"status":`+status))
	k.put(one+"/status", k.object(`"name":"`+k.name("a")+`"`, `"status":{"unknown":1}`))
	k.put(one+"/status?fieldValidation=Strict", k.object(`"name":"`+k.name("a")+`"`, `"status":{"unknown":1}`))
	k.put(one+"/status", k.object(`"name":"`+k.name("a")+`"`, ``))
	k.put(one, k.object(`"name":"`+k.name("a")+`"`, k.rest+`,"status":`+status))
	k.patch(applyPatch, one+"/status?fieldManager=s", k.object(`"name":"`+k.name("a")+`"`, `"status":`+status))
	k.patch(applyPatch, one+"/status?fieldManager=t", k.object(`"name":"`+k.name("a")+`"`, k.rest+`,"status":{}`))
	k.delete(one+"/status", "")
	k.get(k.one("none") + "/status")
	k.patch(mergePatch, k.one("none")+"/status", `{}`)
	if k.status != "" {
		for _, body := range mutants(k.t, `{"status":`+k.status+`}`, false) {
			k.patch(mergePatch, one+"/status?dryRun=All", body)
		}
	}
	const scaled = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"NS"},"spec":{"replicas":4}}`
	k.get(one + "/scale")
	k.put(one+"/scale", scaled)
	k.put(one+"/scale", strings.Replace(scaled, "4", "-1", 1))
	k.put(one+"/scale", strings.Replace(scaled, `"a"`, `"b"`, 1))
	k.patch(mergePatch, one+"/scale", `{"spec":{"replicas":5}}`)
	k.patch(jsonPatch, one+"/scale?dryRun=All", `[{"op":"replace","path":"/spec/replicas","value":6}]`)
	k.patch(strategic, one+"/scale", `{"spec":{"replicas":"x"}}`)
	k.patch(applyPatch, one+"/scale?fieldManager=scaler&force=true", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":7}}`)
	k.do("GET", one+"/scale", "", "Accept", acceptTable)
	k.get(one)
	k.get(k.one("none") + "/scale")
}

// kubectlTable is the Accept header of kubectl get.
const kubectlTable = acceptTable + ",application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json"

// accepts has the Accept headers for one object, and acceptLists those for a list.
var (
	accepts = []string{"", "*/*", "application/*", yamlType, protobufType, protobufType + "," + jsonType, "text/html", "text/plain", "application/cbor", kubectlTable, acceptTable, "application/json;as=Table;g=meta.k8s.io;v=v1beta1", "application/json;as=Table;g=meta.k8s.io;v=v9",
		"application/json;as=Nothing;g=meta.k8s.io;v=v1", yamlType + ";as=Table;g=meta.k8s.io;v=v1", protobufType + ";as=Table;g=meta.k8s.io;v=v1", acceptPartial, acceptPartial + "," + jsonType, protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1", "nonsense", "application/json;q=0.5", "application/yaml;q=0.1,application/json;q=0.9", "application/json;pretty=1", "application/json;stream=watch"}
	partialList = strings.ReplaceAll(acceptPartial, "Metadata;", "MetadataList;")
	acceptLists = []string{"", "*/*", yamlType, protobufType, protobufType + "," + jsonType, kubectlTable, "application/json;as=Table;g=meta.k8s.io;v=v1beta1", partialList, partialList + "," + jsonType, protobufType + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", acceptPartial, "text/html"}
)

// forms reads objects in all forms.
func (k *kindTalk) forms() {
	k.make("a", `"annotations":{"a":"b"}`)
	k.make("b", `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"the-uid-of-an-owner"}]`)
	for _, accept := range accepts {
		k.do("GET", k.one("a"), "", "Accept", accept)
	}
	for _, accept := range acceptLists {
		k.do("GET", k.chosen(), "", "Accept", accept)
	}
	for _, include := range []string{"None", "Metadata", "Object", "Nonsense"} {
		k.do("GET", k.one("a")+"?includeObject="+include, "", "Accept", acceptTable)
		k.do("GET", k.chosen("includeObject="+include), "", "Accept", acceptTable)
	}
	for _, accept := range []string{yamlType, protobufType, acceptTable, acceptPartial} {
		k.do("GET", k.one("none"), "", "Accept", accept)
		k.do("PATCH", k.one("a"), `{"metadata":{"labels":{"form":"x"}}}`, "Content-Type", mergePatch, "Accept", accept)
		k.do("POST", k.path, k.body("c"), "Accept", accept)
		k.do("PUT", k.one("c"), k.body("c"), "Accept", accept)
		k.do("DELETE", k.one("c"), `{"gracePeriodSeconds":0}`, "Accept", accept)
	}
	k.get(k.one("a") + "?pretty=true")
}

// lists lists objects with all options.
func (k *kindTalk) lists() {
	a := k.make("a")
	k.make("b", `"labels":{"case":"NS","x":"1"}`)
	k.make("c", `"labels":{"case":"NS","x":"2"}`)
	selectors := []string{"x", "!x", "x=1", "x==1", "x!=1", "x in (1,2)", "x notin (1)", "x>1", "x<2", "x=1,x!=2", "case=nothing", "x in ()", "x=not valid", "=", ","}
	for _, sel := range selectors {
		if k.namespaced() {
			k.get(k.path + "?labelSelector=" + escape(sel))
		} else {
			k.get(k.path + "?labelSelector=" + escape("case=NS,"+sel))
		}
	}
	for _, field := range []string{"metadata.name=" + k.name("b"), "metadata.name!=" + k.name("b"), "metadata.namespace=NS", "metadata.namespace=other", "metadata.uid=x", "spec.nothing=1", "status.phase=Running", "type=Opaque", "spec.nodeName=", "reason=R", "metadata.name=" + k.name("b") + ",metadata.name=" + k.name("c"), "=", "metadata.name", `metadata.name=\,`} {
		k.get(k.chosen("fieldSelector=" + escape(strings.ReplaceAll(field, "NS", k.ns))))
	}
	if !k.namespaced() {
		return
	}
	page := k.get(k.path + "?limit=2")
	k.get(k.path + "?limit=2&continue=" + page.Metadata.Continue)
	k.get(k.path + "?limit=1&labelSelector=x")
	k.get(k.path + "?limit=1&fieldSelector=metadata.name%3Dc")
	v := a.Metadata.ResourceVersion
	for _, options := range []string{"resourceVersion=0", "resourceVersion=" + v, "resourceVersion=" + v + "&resourceVersionMatch=Exact", "resourceVersion=" + v + "&resourceVersionMatch=NotOlderThan", "limit=2&resourceVersion=" + v + "&resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan"} {
		k.get(k.path + "?" + options)
	}
	k.get(strings.Replace(k.session.path(k.path), "/namespaces/"+k.ns+"/", "/", 1) + "?labelSelector=case%3D" + k.ns)
	k.get(strings.Replace(k.session.path(k.path), "/"+k.ns+"/", "/missing/", 1))
}

// watches watches objects in each form.
func (k *kindTalk) watches() {
	a := k.make("a")
	from := "resourceVersion=" + a.Metadata.ResourceVersion
	forms := []string{jsonType, acceptTable, acceptPartial, yamlType, protobufType, protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "text/plain"}
	k.patch(mergePatch, k.one("a"), `{"metadata":{"labels":{"x":"1"}}}`)
	k.make("b", `"labels":{"case":"NS","x":"1"}`)
	k.patch(mergePatch, k.one("a"), `{"metadata":{"labels":{"x":"2"}}}`)
	k.delete(k.one("b"), `{"gracePeriodSeconds":0}`)
	k.patch(mergePatch, k.one("a"), `{"metadata":{"annotations":{"last":"one"}}}`)
	events := 5
	if k.short == "Namespace" {
		events = 4
	}
	for _, accept := range forms {
		w := k.watch(k.chosen("watch=1", from), "Accept", accept)
		if accept == yamlType || accept == "text/plain" {
			continue // the end of an event cannot be found in this form
		}
		w.next(events)
	}
	k.watch(k.chosen("watch=1", from, "fieldSelector=metadata.name%3D"+k.name("b"))).next(2)
	if k.namespaced() {
		k.watch(k.path + "?watch=1&labelSelector=x%3D1&" + from).next(4)
		k.watch(k.one("a") + "?watch=1&" + from).next(3)
		k.watch("/" + strings.Replace(strings.TrimPrefix(k.session.path(k.path), "/"), "/namespaces", "/watch/namespaces", 1) + "?" + from).next(1)
	}
	k.watch(k.chosen("watch=1", "sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true")).next(2)
}

// dryRuns makes dry runs, which change nothing.
func (k *kindTalk) dryRuns() {
	const dry = "?dryRun=All"
	k.post(k.path+dry, k.body("a"))
	k.get(k.one("a"))
	first := k.make("a")
	one := k.one("a")
	k.put(one+dry, k.body("a", `"annotations":{"n":"1"}`))
	k.put(one+dry, first.raw)
	k.patch(mergePatch, one+dry, `{"metadata":{"labels":{"l":"1"}}}`)
	k.patch(jsonPatch, one+dry, `[{"op":"add","path":"/metadata/labels","value":{"l":"1"}}]`)
	k.patch(strategic, one+dry, `{"metadata":{"labels":{"l":"1"}}}`)
	k.patch(applyPatch, one+dry+"&fieldManager=m&force=true", k.body("a", `"labels":{"l":"1"}`))
	k.patch(applyPatch, k.one("n")+dry+"&fieldManager=m", k.body("n"))
	if k.status != "" {
		k.patch(mergePatch, one+"/status"+dry, `{"status":`+k.status+`}`)
	}
	k.delete(one+dry, "")
	k.delete(one, `{"dryRun":["All"],"gracePeriodSeconds":0}`)
	k.delete(one, `{"dryRun":["All"],"propagationPolicy":"Foreground"}`)
	k.do("DELETE", k.chosen("dryRun=All"), "")
	k.post(k.path+"?dryRun=Nonsense", k.body("b"))
	k.post(k.path+"?dryRun=All&dryRun=All", k.body("b"))
	k.post(k.path+"?dryRun=", k.body("b"))
	k.get(one)
	k.get(k.one("n"))
}

// deletions deletes objects with all options.
func (k *kindTalk) deletions() {
	a := k.make("a", `"finalizers":["example.com/x"]`)
	one := k.one("a")
	for _, o := range []string{`{"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}}`, `{"preconditions":{"resourceVersion":"1"}}`, `{"propagationPolicy":"Nonsense"}`, `{"gracePeriodSeconds":-1}`, `{"gracePeriodSeconds":"x"}`, `{"orphanDependents":true,"propagationPolicy":"Orphan"}`, `{"unknown":1}`, `{"kind":"Pod"}`, `{"apiVersion":"v1","kind":"DeleteOptions"}x`, `[]`} {
		k.delete(one, o)
	}
	q := k.make("q")
	k.delete(k.one("q"), `{"preconditions":{"uid":"`+q.Metadata.UID+`","resourceVersion":"`+q.Metadata.ResourceVersion+`"}}`)
	k.delete(one+"?gracePeriodSeconds=x", "")
	k.delete(one+"?propagationPolicy=Nonsense", "")
	k.delete(one, `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"`+a.Metadata.UID+`","resourceVersion":"`+a.Metadata.ResourceVersion+`"}}`)
	k.get(one)
	k.delete(one, "")
	k.patch(mergePatch, one, `{"metadata":{"labels":{"still":"there"}}}`)
	k.patch(mergePatch, one, `{"metadata":{"finalizers":["example.com/x","example.com/y"]}}`)
	k.make("a")
	k.patch(mergePatch, one, `{"metadata":{"finalizers":null}}`)
	k.delete(one, "")
	for _, policy := range []string{"Foreground", "Orphan", "Background"} {
		letter := strings.ToLower(policy[:1])
		k.make(letter)
		k.delete(k.one(letter), `{"propagationPolicy":"`+policy+`"}`)
		k.get(k.one(letter))
		k.patch(mergePatch, k.one(letter), `{"metadata":{"finalizers":[]}}`)
		k.delete(k.one(letter), `{"gracePeriodSeconds":0}`)
	}
	k.make("p")
	k.do("DELETE", k.one("p"), `{"apiVersion":"v1","kind":"DeleteOptions"}`, "Accept", acceptTable)
	k.make("c")
	k.make("d", `"labels":{"case":"NS","x":"1"}`, `"finalizers":["example.com/x"]`)
	k.make("e", `"labels":{"case":"NS","x":"1"}`)
	k.send("DELETE", k.session.path(k.path+"?labelSelector="+escape("x=1,case=NS")), `{"gracePeriodSeconds":0}`) // in any order
	k.get(k.one("c"))
	k.get(k.one("d"))
	k.get(k.one("e"))
	k.send("DELETE", k.session.path(k.chosen()), `{"propagationPolicy":"Background"}`)
	k.get(k.one("c"))
	k.get(k.one("d"))
}

// mutants returns copies of an object, each with one field changed. It does not change the metadata.
func mutants(t testing.TB, body string, few bool) []string {
	var object map[string]any
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Logf("no object: %.200s", body)
		return nil
	}
	values := []any{nil, "", "X y", -1, true, []any{}, map[string]any{}, 1.5, map[string]any{"x": "y"}, []any{1}}
	var out []string
	n := 0
	write := func() {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if key == "metadata" || key == "apiVersion" || key == "kind" {
					continue
				}
				was := v[key]
				delete(v, key)
				write()
				for range 3 {
					n++
					v[key] = values[n%len(values)]
					write()
					if few {
						break
					}
				}
				v[key] = was
				walk(was)
			}
			if !few {
				v["unheard"] = "of"
				write()
				delete(v, "unheard")
			}
		}
	}
	walk(object)
	return out
}
