package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

const gauges = "/apis/NS.example.com/%s/namespaces/NS/gauges"

// gauge is an object of a kind of two versions: v1 has a size, v2 an amount.
func gauge(version, name string, n int) string {
	field := `"size":` + fmt.Sprint(n)
	if version == "v2" {
		field = fmt.Sprintf(`"amount":"%d"`, n)
	}
	return fmt.Sprintf(`{"apiVersion":"NS.example.com/%s","kind":"Gauge","metadata":{"name":%q},"spec":{%s}}`, version, name, field)
}

const gaugeVersions = `{"name":"v1","served":true,"storage":%t,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.n"}},
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"},"color":{"type":"string","default":"red"}}},"status":{"type":"object","properties":{"n":{"type":"integer"}}}}}}},
	{"name":"v2","served":true,"storage":%t,"subresources":{"status":{}},
		"additionalPrinterColumns":[{"name":"Amount","type":"string","jsonPath":".spec.amount"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"amount":{"type":"string"},"shade":{"type":"string","default":"dark"}}},"status":{"type":"object","properties":{"n":{"type":"integer"}}}}}}}`

// gaugeDefinition is the definition of gauges. Their versions are converted by a webhook.
func (h *hookServer) gaugeDefinition(storage, client string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gauges.NS.example.com"},
		"spec":{"group":"NS.example.com","scope":"Namespaced","names":{"plural":"gauges","kind":"Gauge"},"preserveUnknownFields":false,"versions":[%s],
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":%s}}}}`,
		fmt.Sprintf(gaugeVersions, storage == "v1", storage == "v2"), client)
}

// defineGauges creates the definition and waits until both versions are served. The first is stored.
func (h *hookServer) defineGauges() {
	h.s.t.Helper()
	h.defineStored("v1")
}

func (h *hookServer) defineStored(storage string) {
	h.s.t.Helper()
	h.on("/convert", converted(func(map[string]any) {}))
	h.s.post(definitions, h.gaugeDefinition(storage, fmt.Sprintf(`{"url":"%s/convert","caBundle":%q}`, h.url, authority().bundle)))
	h.s.await(definitions+"/gauges.NS.example.com", "InitialNamesAccepted")
	for _, v := range []string{"v1", "v2"} {
		h.s.await("/apis/NS.example.com/"+v, `"gauges"`)
		h.s.await(fmt.Sprintf(gauges, v), `"items"`)
	}
}

// plainDefinition is the definition of gauges whose versions differ by their names only, for the server.
func (h *hookServer) plainDefinition() string {
	whole := h.gaugeDefinition("v1", "{}")
	return whole[:strings.Index(whole, ",\n\t\t\t\"conversion\"")] + "}}"
}

// defineSelected creates the definition of gauges with one selectable field in each version.
func (h *hookServer) defineSelected(definition, first, second string) {
	h.s.t.Helper()
	for version, field := range map[string]string{"v1": first, "v2": second} {
		name := fmt.Sprintf(`{"name":%q,`, version)
		definition = strings.Replace(definition, name, name+fmt.Sprintf(`"selectableFields":[{"jsonPath":%q}],`, field), 1)
	}
	h.s.post(definitions, definition)
	h.s.await(definitions+"/gauges.NS.example.com", "InitialNamesAccepted")
	for _, v := range []string{"v1", "v2"} {
		h.s.await("/apis/NS.example.com/"+v, `"gauges"`)
		h.s.await(fmt.Sprintf(gauges, v), `"items"`)
	}
}

// selectedGauges lists, watches and deletes gauges by a field of each version.
func selectedGauges(s *session, first, second string) {
	v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
	s.post(v1, gauge("v1", "a", 1))
	s.post(v2, gauge("v2", "b", 2))
	s.post(v2, gauge("v2", "c", 2))
	one, two := v1+"?fieldSelector="+first+"%3D2", v2+"?fieldSelector="+second+"%3D2"
	w := s.watch(v2 + "?watch=1&timeoutSeconds=30&fieldSelector=" + second + "%3D2")
	w.next(2)
	for _, path := range []string{one, two, v2 + "?fieldSelector=" + second + "%21%3D2", v2 + "?fieldSelector=" + first + "%3D2", one + "&limit=1", two + ",metadata.name%3Dc"} {
		s.get(path)
	}
	s.do("GET", two, "", "Accept", acceptTable)
	s.patch(mergePatch, v1+"/a", `{"spec":{"size":2}}`)
	w.next(1)
	s.patch(mergePatch, v2+"/b", `{"spec":{"amount":"3"}}`)
	w.next(1)
	s.delete(v1+"/c", "")
	w.next(1)
	s.delete(two, "")
	w.next(1)
	s.get(v1)
}

const conversionReview = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":%q,"result":%s,"convertedObjects":%s}}`

// converted returns a webhook that converts gauges. then changes the result; it may be nil.
func converted(then func(map[string]any)) func(review) string {
	return func(v review) string {
		for _, o := range v.Request.Objects {
			o["apiVersion"] = v.Request.DesiredAPIVersion
			spec, ok := o["spec"].(map[string]any)
			if !ok {
				continue
			}
			if size, ok := spec["size"]; ok && strings.HasSuffix(v.Request.DesiredAPIVersion, "/v2") {
				spec["amount"] = fmt.Sprint(size)
				delete(spec, "size")
			}
			if amount, ok := spec["amount"]; ok && strings.HasSuffix(v.Request.DesiredAPIVersion, "/v1") {
				spec["size"] = json.Number(fmt.Sprint(amount))
				delete(spec, "amount")
			}
			then(o)
		}
		text, err := json.Marshal(v.Request.Objects)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf(conversionReview, v.Request.UID, `{"status":"Success"}`, text)
	}
}

// conversionCases are about webhooks that convert versions of custom resources.
var conversionCases = []conformanceCase{
	{"objects are converted by a webhook", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		s.post(v1, gauge("v1", "a", 1))
		s.post(v2, gauge("v2", "b", 2))
		for _, path := range []string{v1, v2} {
			s.get(path + "/a")
			s.get(path + "/b")
			s.get(path)
			s.do("GET", path, "", "Accept", acceptTable)
			s.do("GET", path+"/b", "", "Accept", acceptPartial)
		}
		s.get(v2 + "?fieldSelector=metadata.name%3Da")
		s.get(v2 + "?limit=1")
	}},
	{"writes are converted by a webhook", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		a := s.post(v1, gauge("v1", "a", 1))
		s.put(v2+"/a", strings.Replace(gauge("v2", "a", 5), `"metadata":{`, fmt.Sprintf(`"metadata":{"resourceVersion":%q,`, a.Metadata.ResourceVersion), 1))
		s.patch(mergePatch, v2+"/a", `{"spec":{"amount":"6"}}`)
		s.patch(mergePatch, v1+"/a", `{"spec":{"size":7}}`)
		s.patch(mergePatch, v2+"/a/status", `{"status":{"n":3}}`)
		s.get(v1 + "/a/scale")
		s.patch(applyPatch, v2+"/a?fieldManager=m&force=true", gauge("v2", "a", 8))
		s.patch(applyPatch, v2+"/c?fieldManager=m", gauge("v2", "c", 9))
		s.get(v1 + "/a")
		s.delete(v2+"/a", "")
		s.delete(v2, "")
		s.get(v1)
	}},
	{"the definition of converted objects goes", func(s *session) {
		h := newHooks(s)
		h.defineStored("v2")
		s.post(fmt.Sprintf(gauges, "v1"), gauge("v1", "a", 1))
		h.on("/convert", func(review) string { return "500 down" }) // they are deleted as they are stored
		s.delete(definitions+"/gauges.NS.example.com", "")
		s.await(definitions+"/gauges.NS.example.com", "NotFound")
	}},
	{"the definition of objects in a version that is not served goes", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		s.post(fmt.Sprintf(gauges, "v1"), gauge("v1", "a", 1))
		s.patch(jsonPatch, definitions+"/gauges.NS.example.com", `[{"op":"replace","path":"/spec/versions/0/served","value":false}]`)
		s.await(fmt.Sprintf(gauges, "v1"), "404")
		s.delete(definitions+"/gauges.NS.example.com", "")
		s.await(definitions+"/gauges.NS.example.com", "NotFound")
	}},
	{"watches are converted by a webhook", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		s.post(v1, gauge("v1", "a", 1))
		w := s.watch(v2 + "?watch=1&timeoutSeconds=30")
		w.next(1)
		s.patch(mergePatch, v1+"/a", `{"spec":{"size":2}}`)
		w.next(1)
		s.post(v2, gauge("v2", "b", 3))
		w.next(1)
		s.delete(v1+"/a", "")
		w.next(1)
	}},
	{"fields of another version are selected", func(s *session) {
		h := newHooks(s)
		h.on("/convert", converted(func(map[string]any) {}))
		h.defineSelected(h.gaugeDefinition("v1", fmt.Sprintf(`{"url":"%s/convert","caBundle":%q}`, h.url, authority().bundle)), ".spec.size", ".spec.amount")
		selectedGauges(s, "spec.size", "spec.amount")
	}},
	{"fields of another version are selected without a webhook", func(s *session) {
		h := newHooks(s)
		h.defineSelected(h.plainDefinition(), ".spec.color", ".spec.shade")
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		s.post(v1, gauge("v1", "a", 1))
		s.post(v2, gauge("v2", "b", 2))
		for _, path := range []string{v1 + "?fieldSelector=spec.color%3D", v2 + "?fieldSelector=spec.shade%3D", v2 + "?fieldSelector=spec.color%3D"} {
			for _, value := range []string{"red", "dark", ""} {
				s.get(path + value)
			}
		}
		s.patch(mergePatch, v1+"/a", `{"spec":{"color":"dark"}}`)
		s.get(v1 + "?fieldSelector=spec.color%3Ddark")
		s.get(v2 + "?fieldSelector=spec.shade%3Ddark")
	}},
	{"fields become selectable", func(s *session) {
		h := newHooks(s)
		h.defineSelected(h.plainDefinition(), ".spec.color", ".spec.shade")
		v1 := fmt.Sprintf(gauges, "v1")
		s.post(v1, gauge("v1", "a", 1))
		s.post(v1, gauge("v1", "b", 2))
		s.patch(jsonPatch, definitions+"/gauges.NS.example.com", `[{"op":"add","path":"/spec/versions/0/selectableFields/-","value":{"jsonPath":".spec.size"}}]`)
		s.await(v1+"?fieldSelector=spec.size%3D2", `"size":2`)
		s.get(v1 + "?fieldSelector=spec.size%3D2")
		s.get(v1 + "?fieldSelector=spec.size%3D2,spec.color%3Dred")
		s.get(v1 + "?fieldSelector=spec.size%21%3D2")
		w := s.watch(v1 + "?watch=1&timeoutSeconds=30&fieldSelector=spec.size%3D1")
		w.next(1)
		s.patch(mergePatch, v1+"/a", `{"spec":{"size":3}}`)
		w.next(1)
		s.patch(mergePatch, v1+"/b", `{"spec":{"size":1}}`)
		w.next(1)
	}},
	{"another version is stored", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		s.post(v1, gauge("v1", "a", 1))
		s.patch(mergePatch, definitions+"/gauges.NS.example.com", `{"spec":{"versions":[`+fmt.Sprintf(gaugeVersions, false, true)+`]}}`)
		s.await(definitions+"/gauges.NS.example.com", `"storedVersions":["v1","v2"]`)
		s.post(v1, gauge("v1", "b", 2))
		s.get(v1 + "/a")
		s.get(v2 + "/a")
		s.get(v1)
		s.get(v2)
		s.patch(mergePatch, v1+"/a", `{"metadata":{"labels":{"x":"y"}}}`)
		s.get(v2)
	}},
	{"conversions that fail", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		s.post(v1, gauge("v1", "a", 1))
		s.get(v2 + "/a")
		for _, answer := range []func(review) string{
			func(v review) string {
				return fmt.Sprintf(conversionReview, v.Request.UID, `{"status":"Failure","message":"cannot convert"}`, `[]`)
			},
			func(v review) string {
				return fmt.Sprintf(conversionReview, v.Request.UID, `{"status":"Failure"}`, `[]`)
			},
			func(v review) string {
				return fmt.Sprintf(conversionReview, v.Request.UID, `{"status":"Success"}`, `[]`)
			},
			func(review) string { return "nonsense" },
			func(review) string { return "500 broken" },
			func(review) string { return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}` },
			func(review) string { return `{"apiVersion":"v1","kind":"ConversionReview"}` },
			converted(func(o map[string]any) { o["apiVersion"] = "NS.example.com/v9" }),
			converted(func(o map[string]any) { o["kind"] = "Other" }),
			converted(func(o map[string]any) { o["metadata"].(map[string]any)["name"] = "other" }),
			converted(func(o map[string]any) { delete(o, "metadata") }),
			converted(func(o map[string]any) {
				o["metadata"].(map[string]any)["labels"] = map[string]any{"not valid": "x"}
			}),
			converted(func(o map[string]any) { o["metadata"].(map[string]any)["labels"] = map[string]any{"x": "y"} }),
		} {
			h.on("/convert", answer)
			s.get(v2 + "/a")
			s.post(v2, gauge("v2", "b", 1))
			s.discard(v1 + "/b")
		}
	}},
	{"conversions that cannot be reached", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		h.server.Close() // before the object is made: a real server may hold it converted already, in a cache
		s.post(v1, gauge("v1", "a", 1))
		s.get(v2 + "/a")
		s.get(v1 + "/a")
		s.patch(mergePatch, v2+"/a", `{"spec":{"amount":"6"}}`)
		s.delete(v2+"/a", "")
		s.delete(v1+"/a", "")
	}},
	{"webhooks and versions of custom resources", func(s *session) {
		h := newHooks(s)
		h.defineGauges()
		v1, v2 := fmt.Sprintf(gauges, "v1"), fmt.Sprintf(gauges, "v2")
		h.on("/v", allow())
		h.configure("Validating", "one", h.hook("/v", `"rules":[{"apiGroups":["NS.example.com"],"apiVersions":["v1"],"operations":["CREATE","DELETE"],"resources":["gauges"]}]`))
		h.on("/m", patched(`[{"op":"add","path":"/spec/amount","value":"77"}]`))
		h.configure("Mutating", "two", h.hook("/m", `"rules":[{"apiGroups":["NS.example.com"],"apiVersions":["v2"],"operations":["CREATE"],"resources":["gauges"]}]`))
		s.post(v1, gauge("v1", "a", 1))
		s.post(v2, gauge("v2", "b", 1))
		s.get(v1)
	}},
}
