package apiserver_test

import (
	"fmt"
	"strings"
	"time"
)

const (
	onAll    = `"rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"]}]`
	onWrites = `"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]`
)

// configMapOf is a ConfigMap as JSON. More are fields of its metadata.
func configMapOf(name string, more ...string) string {
	extra := ""
	for _, m := range more {
		extra += "," + m
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q%s},"data":{"k":"v"}}`, name, extra)
}

const (
	addLabel = `[{"op":"add","path":"/metadata/labels","value":{"mutated":"yes"}}]`
	addData  = `[{"op":"add","path":"/data/%s","value":"%s"}]`
)

// webhookCases are about webhooks of admission.
var webhookCases = []conformanceCase{
	{"a webhook is asked about a create", func(s *session) {
		h := newHooks(s)
		h.on("/v", allow())
		h.configure("Validating", "one", h.hook("/v", ""))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
		s.get("~/configmaps/a")
	}},
	{"a webhook denies", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"it may not be"}`))
		h.configure("Validating", "one", h.hook("/v", ""))
		s.post("~/configmaps", configMapOf("a"))
		for _, status := range []string{`{}`, `{"code":400,"message":"bad","reason":"BadRequest"}`, `{"code":422,"reason":"Invalid","message":"x","details":{"name":"n","causes":[{"field":"f","message":"m"}]}}`,
			`{"code":200,"message":"odd"}`, `{"status":"Success","message":"odd"}`, `{"code":599,"message":"high"}`} {
			h.on("/v", deny(status))
			s.post("~/configmaps", configMapOf("a"))
		}
		s.get("~/configmaps/a")
	}},
	{"errors of a webhook are in its order", func(s *session) {
		h := newHooks(s)
		define(s, "widgets", "Widget", widgetVersion)
		h.configure("Validating", "one", h.hook("/v", `"rules":[{"apiGroups":["","NS.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps","widgets"]}]`))
		for _, fields := range [][2]string{{"spec.b", "spec.a"}, {"metadata.labels.b", "metadata.labels.a"}} {
			h.on("/v", deny(fmt.Sprintf(`{"code":422,"reason":"Invalid","message":"Thing \"a\" is invalid: [%[1]s: Invalid value: 1: no, %[2]s: Invalid value: 2: no]",
				"details":{"name":"a","causes":[{"field":%[1]q,"reason":"FieldValueInvalid","message":"Invalid value: 1: no"},{"field":%[2]q,"reason":"FieldValueInvalid","message":"Invalid value: 2: no"}]}}`, fields[0], fields[1])))
			s.post(widgets, widget("a", `{"size":1}`))
			s.post("~/configmaps", configMapOf("a"))
		}
	}},
	{"a mutating webhook denies", func(s *session) {
		h := newHooks(s)
		h.on("/m", deny(`{"code":409,"reason":"Conflict","message":"no"}`, `"warnings":["first"]`))
		h.configure("Mutating", "one", h.hook("/m", ""))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
		s.get("~/configmaps/a")
	}},
	{"a webhook is asked about all verbs", func(s *session) {
		h := newHooks(s)
		h.on("/m", allow())
		h.on("/v", allow())
		s.post("~/configmaps", configMapOf("a"))
		h.configure("Mutating", "one", h.hook("/m", onAll))
		h.configure("Validating", "two", h.hook("/v", onAll))
		s.put("~/configmaps/a", configMapOf("a", `"labels":{"x":"y"}`))
		h.asked()
		s.put("~/configmaps/a", configMapOf("a", `"labels":{"x":"y"}`))
		h.asked()
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"k":"w"}}`)
		h.asked()
		s.patch(strategic, "~/configmaps/a", `{"data":{"k":"x"}}`)
		h.asked()
		s.patch(jsonPatch, "~/configmaps/a", `[{"op":"replace","path":"/data/k","value":"y"}]`)
		h.asked()
		s.patch(applyPatch, "~/configmaps/a?fieldManager=m&force=true", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"z"}}`)
		h.asked()
		s.patch(applyPatch, "~/configmaps/b?fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"z"}}`)
		h.asked()
		s.get("~/configmaps/a")
		s.get("~/configmaps")
		h.asked()
		s.delete("~/configmaps/a", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`)
		h.asked()
		s.delete("~/configmaps", "")
		h.asked()
		s.delete("~/configmaps/none", "")
		h.asked()
		s.put("~/configmaps/none", configMapOf("none"))
		h.asked()
	}},
	{"a webhook is asked about subresources", func(s *session) {
		h := newHooks(s)
		h.on("/v", allow())
		h.configure("Validating", "two", h.hook("/v", onAll))
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},`+podBody+`}`)
		h.asked("~/pods")
		s.post("~/pods/p/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`)
		h.asked("~/pods")
		s.patch(mergePatch, "~/pods/p/status", `{"status":{"phase":"Running"}}`)
		h.asked("~/pods")
		s.post("~/pods/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`)
		h.asked("~/pods")
		s.delete("~/pods/p", `{"gracePeriodSeconds":0}`)
		h.asked("~/pods")
		s.post("/apis/apps/v1/namespaces/NS/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},`+podBody+`}}}`)
		h.forget()
		s.put("/apis/apps/v1/namespaces/NS/deployments/d/scale", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","namespace":"NS"},"spec":{"replicas":3}}`)
		h.asked("~/pods")
	}},
	{"a webhook is asked about generated names", func(s *session) {
		h := newHooks(s)
		h.on("/m", allow())
		h.on("/v", allow())
		h.configure("Mutating", "one", h.hook("/m", ""))
		h.configure("Validating", "two", h.hook("/v", ""))
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"}}`)
		h.asked()
	}},
	{"webhooks choose objects by labels", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"no"}`))
		h.configure("Validating", "one", h.hook("/v", onWrites+`,"objectSelector":{"matchExpressions":[{"key":"guarded","operator":"Exists"}]}`))
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/configmaps", configMapOf("b", `"labels":{"guarded":""}`))
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"labels":{"guarded":"x"}}}`)
		h.forget()
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"labels":{"other":"x"}}}`)
		h.asked()
	}},
	{"webhooks choose namespaces by labels", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"no"}`))
		h.configure("Validating", "one", h.hook("/v", `"namespaceSelector":{"matchLabels":{"guarded-NS":"yes"}},"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE","DELETE"],"resources":["configmaps","namespaces"]}]`))
		s.post("~/configmaps", configMapOf("a"))
		s.patch(mergePatch, "/api/v1/namespaces/NS", `{"metadata":{"labels":{"guarded-NS":"yes"}}}`)
		s.post("/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other-NS","labels":{"guarded-NS":"yes"}}}`)
		h.forget()
		s.post("/api/v1/namespaces/missing/configmaps", configMapOf("a"))
		h.asked()
	}},
	{"webhooks about one scope", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"cluster"}`))
		h.on("/w", deny(`{"message":"namespaced"}`))
		only := `"matchConditions":[{"name":"mine","expression":"request.name.endsWith('NS')"}],"namespaceSelector":{},"rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE"],"resources":["*"],"scope":"%s"}]`
		h.configure("Validating", "one", h.hook("/v", fmt.Sprintf(only, "Cluster")), h.hook("/w", fmt.Sprintf(only, "Namespaced")))
		s.post("/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other-NS"}}`)
		s.post("~/configmaps", configMapOf("x-NS"))
		s.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"x-NS"}}`)
	}},
	{"webhooks of equivalent kinds", func(s *session) {
		h := newHooks(s)
		h.on("/v", allow())
		h.on("/w", allow())
		only := `"matchPolicy":"%s","rules":[{"apiGroups":["autoscaling"],"apiVersions":["v1"],"operations":["*"],"resources":["horizontalpodautoscalers"]}]`
		h.configure("Validating", "one", h.hook("/v", fmt.Sprintf(only, "Equivalent")))
		h.configure("Mutating", "two", h.hook("/w", fmt.Sprintf(only, "Exact")))
		const scalers = "/apis/autoscaling/%s/namespaces/NS/horizontalpodautoscalers"
		const spec = `"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"maxReplicas":3}`
		s.post(fmt.Sprintf(scalers, "v2"), `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},`+spec+`}`)
		h.asked(fmt.Sprintf(scalers, "v1"), fmt.Sprintf(scalers, "v2"))
		s.post(fmt.Sprintf(scalers, "v1"), `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"b"},`+spec+`}`)
		h.asked(fmt.Sprintf(scalers, "v1"), fmt.Sprintf(scalers, "v2"))
		s.delete(fmt.Sprintf(scalers, "v2")+"/b", "")
		h.asked(fmt.Sprintf(scalers, "v1"), fmt.Sprintf(scalers, "v2"))
	}},
	{"conditions of webhooks", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"no"}`))
		h.configure("Validating", "one", h.hook("/v", onWrites+`,"matchConditions":[
			{"name":"not-free","expression":"!has(object.metadata.labels) || !('free' in object.metadata.labels)"},
			{"name":"not-admin","expression":"request.userInfo.username != 'nobody'"},
			{"name":"changed","expression":"oldObject == null || object.data.k != oldObject.data.k"}]`))
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/configmaps", configMapOf("b", `"labels":{"free":"1"}`))
		s.patch(mergePatch, "~/configmaps/b", `{"metadata":{"labels":{"free":null}}}`)
		s.patch(mergePatch, "~/configmaps/b", `{"data":{"k":"w"}}`)
	}},
	{"conditions of webhooks that fail", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"no"}`))
		fails := `"matchConditions":[{"name":"fails","expression":"object.data.missing == 'x'"}]`
		h.configure("Validating", "one", h.hook("/v", fails+`,"failurePolicy":"Ignore"`))
		s.post("~/configmaps", configMapOf("a"))
		h.remove("Validating", "one")
		h.configure("Validating", "two", h.hook("/v", fails+`,"failurePolicy":"Fail"`))
		s.post("~/configmaps", configMapOf("b"))
		h.asked()
	}},
	{"conditions of webhooks that do not compile", func(s *session) {
		h := newHooks(s)
		s.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
			`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"NS"},"webhooks":[`+h.hook("/v", `"matchConditions":[{"name":"x","expression":"object.("},{"name":"y","expression":"1 + 1"}]`)+`]}`)
	}},
	{"webhooks that cannot be reached", func(s *session) {
		h := newHooks(s)
		for i, policy := range []string{"Fail", "Ignore"} {
			for _, kind := range []string{"Mutating", "Validating"} {
				name := strings.ToLower(policy + kind)
				h.configure(kind, name, h.hook("/v", fmt.Sprintf(`"failurePolicy":%q,"clientConfig":{"url":"https://127.0.0.1:1/v"}`, policy)))
				s.post("~/configmaps", configMapOf(fmt.Sprint("a", i)))
				h.remove(kind, name)
			}
		}
	}},
	{"webhooks that answer nonsense", func(s *session) {
		h := newHooks(s)
		h.configure("Mutating", "one", h.hook("/m", ""))
		for i, text := range []string{`nonsense`, `{}`, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true}}`,
			`{"apiVersion":"v1","kind":"Status","status":"Failure","message":"x","code":418}`, `500 {"apiVersion":"v1","kind":"Status","status":"Failure","message":"x","code":418}`,
			`500 broken`, `404 gone`, `204 `, `401 {}`} {
			h.on("/m", func(review) string { return text })
			s.post("~/configmaps", configMapOf(fmt.Sprint("a", i)))
		}
		h.on("/m", nil)
		s.post("~/configmaps", configMapOf("none"))
	}},
	{"validating webhooks that answer nonsense", func(s *session) {
		h := newHooks(s)
		h.configure("Validating", "one", h.hook("/v", ""))
		for i, answer := range []func(review) string{patched(addLabel), allow(`"patchType":"JSONPatch"`), allow(`"patch":"W10="`), func(review) string { return "nonsense" }} {
			h.on("/v", answer)
			s.post("~/configmaps", configMapOf(fmt.Sprint("a", i)))
		}
	}},
	{"webhooks that answer nonsense and are ignored", func(s *session) {
		h := newHooks(s)
		h.on("/m", func(review) string { return "nonsense" })
		h.on("/v", func(review) string { return "500 broken" })
		h.configure("Mutating", "one", h.hook("/m", `"failurePolicy":"Ignore"`))
		h.configure("Validating", "two", h.hook("/v", `"failurePolicy":"Ignore"`))
		s.post("~/configmaps", configMapOf("a"))
		h.on("/v", deny(`{"message":"this counts"}`))
		s.post("~/configmaps", configMapOf("b"))
	}},
	{"webhooks that take too long", func(s *session) {
		h := newHooks(s)
		slow := func(answer func(review) string) func(review) string {
			return func(v review) string {
				time.Sleep(1200 * time.Millisecond) // longer than its timeout
				return answer(v)
			}
		}
		h.on("/m", slow(allow()))
		h.configure("Mutating", "one", h.hook("/m", `"timeoutSeconds":1`))
		s.post("~/configmaps", configMapOf("a"))
		h.remove("Mutating", "one")
		h.on("/v", slow(deny(`{"message":"late"}`)))
		h.configure("Validating", "two", h.hook("/v", `"timeoutSeconds":1,"failurePolicy":"Ignore"`))
		s.post("~/configmaps", configMapOf("b"))
	}},
	{"webhooks with other certificates", func(s *session) {
		h := newHooks(s)
		h.on("/v", allow())
		h.configure("Validating", "one", h.hook("/v", `"clientConfig":{"url":"`+h.url+`/v"}`))
		s.post("~/configmaps", configMapOf("a"))
		s.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
			`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"NS"},"webhooks":[`+h.hook("/v", `"clientConfig":{"url":"http://127.0.0.1:1/v"}`)+`]}`)
		h.configure("Mutating", "two", h.hook("/v", `"clientConfig":{"url":"`+h.url+`/v","caBundle":"bm9uc2Vuc2U="}`))
		s.post("~/configmaps", configMapOf("b"))
	}},
	{"webhooks of services", func(s *session) {
		h := newHooks(s)
		h.configure("Validating", "one", h.hook("/v", `"clientConfig":{"service":{"namespace":"NS","name":"missing","path":"/v"}}`))
		s.post("~/configmaps", configMapOf("a"))
		h.remove("Validating", "one")
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"none"},"spec":{"clusterIP":"None","ports":[{"port":443}]}}`)
		h.configure("Validating", "two", h.hook("/v", `"clientConfig":{"service":{"namespace":"NS","name":"none","path":"/v"}}`))
		s.post("~/configmaps", configMapOf("a"))
		h.remove("Validating", "two")
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"some"},"spec":{"ports":[{"port":443}]}}`)
		h.configure("Mutating", "three", h.hook("/v", `"clientConfig":{"service":{"namespace":"NS","name":"some","port":8443}}`))
		s.post("~/configmaps", configMapOf("a"))
	}},
	{"webhooks change objects", func(s *session) {
		h := newHooks(s)
		h.on("/m", patched(addLabel, `"warnings":["one","two"]`, `"auditAnnotations":{"k":"v"}`))
		h.on("/v", allow(`"warnings":["three"]`))
		h.configure("Mutating", "one", h.hook("/m", onWrites))
		h.configure("Validating", "two", h.hook("/v", onWrites))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
		s.get("~/configmaps/a")
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"labels":null}}`)
		h.asked()
		s.patch(applyPatch, "~/configmaps/a?fieldManager=m&force=true", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"z"}}`)
		h.asked()
		s.put("~/configmaps/a", configMapOf("a"))
		h.asked()
	}},
	{"several webhooks change one object", func(s *session) {
		h := newHooks(s)
		h.on("/m1", patched(fmt.Sprintf(addData, "first", "1")))
		h.on("/m2", patched(fmt.Sprintf(addData, "second", "2")))
		h.on("/m3", patched(`[{"op":"test","path":"/data/second","value":"2"},{"op":"remove","path":"/data/first"}]`))
		h.configure("Mutating", "b", h.hook("/m3", ""))
		h.configure("Mutating", "a", h.hook("/m1", ""), h.hook("/m2", ""))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
	}},
	{"webhooks are asked again", func(s *session) {
		h := newHooks(s)
		h.on("/m1", patched(`[{"op":"add","path":"/metadata/annotations","value":{"one":"1"}}]`))
		h.on("/m2", patched(fmt.Sprintf(addData, "second", "2")))
		h.on("/m3", allow())
		h.configure("Mutating", "a", h.hook("/m1", `"reinvocationPolicy":"IfNeeded"`), h.hook("/m2", `"reinvocationPolicy":"IfNeeded"`), h.hook("/m3", ""))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
	}},
	{"patches of webhooks that are not valid", func(s *session) {
		h := newHooks(s)
		h.configure("Mutating", "one", h.hook("/m", `"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]`))
		for i, answer := range []func(review) string{
			patched(`nonsense`), patched(`[]`), patched(`[{"op":"remove","path":"/data/none"}]`), patched(`[{"op":"add","path":"/data","value":{"a b":"c"}}]`), patched(`[{"op":"add","path":"/data","value":1}]`),
			patched(`[{"op":"replace","path":"/metadata/name","value":"other"}]`), patched(`[{"op":"replace","path":"/kind","value":"Secret"}]`), patched(`[{"op":"add","path":"/unknown","value":"x"}]`),
			allow(`"patch":"W10="`), allow(`"patchType":"JSONPatch"`), allow(`"patchType":"","patch":"W10="`), allow(`"patchType":"Other","patch":"` + "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEveCIsInZhbHVlIjoieSJ9XQ==" + `"`),
			patched(`[{"op":"add","path":"/metadata/managedFields","value":[]}]`), patched(`[{"op":"add","path":"/metadata/uid","value":"x"}]`)} {
			h.on("/m", answer)
			s.post("~/configmaps", configMapOf(fmt.Sprint("a", i)))
		}
		h.on("/m", patched(addLabel))
		s.delete("~/configmaps/a1", "")
	}},
	{"webhooks and dry runs", func(s *session) {
		h := newHooks(s)
		h.on("/v", allow())
		h.configure("Validating", "one", h.hook("/v", `"sideEffects":"NoneOnDryRun"`))
		s.post("~/configmaps?dryRun=All", configMapOf("a"))
		h.asked()
		for _, effects := range []string{"Some", "Unknown"} {
			s.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
				`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"NS"},"webhooks":[`+h.hook("/v", `"sideEffects":"`+effects+`"`)+`]}`)
		}
	}},
	{"webhooks that take the older reviews", func(s *session) {
		h := newHooks(s)
		h.on("/m", func(review) string {
			return `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true,"patch":"` + "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEveCIsInZhbHVlIjoieSJ9XQ==" + `"}}`
		})
		h.configure("Mutating", "one", h.hook("/m", `"admissionReviewVersions":["v9","v1beta1","v1"]`))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
	}},
	{"webhooks are not asked about webhooks", func(s *session) {
		h := newHooks(s)
		h.on("/v", deny(`{"message":"no"}`))
		h.configure("Validating", "one", h.hook("/v", `"namespaceSelector":{},"rules":[{"apiGroups":["admissionregistration.k8s.io"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]`))
		s.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"NS"}}`)
		s.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/NS", "")
		h.asked()
	}},
	{"webhooks about custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		h := newHooks(s)
		h.on("/m", patched(`[{"op":"add","path":"/spec/replicas","value":7}]`))
		h.on("/v", allow())
		onWidgets := `"rules":[{"apiGroups":["NS.example.com"],"apiVersions":["v1"],"operations":["*"],"resources":["widgets","widgets/status","widgets/scale"]}]`
		h.configure("Mutating", "one", h.hook("/m", `"rules":[{"apiGroups":["NS.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["widgets"]}]`))
		h.configure("Validating", "two", h.hook("/v", onWidgets))
		s.post(widgets, widget("a", `{"size":1}`))
		h.asked(widgets)
		s.patch(mergePatch, widgets+"/a/status", `{"status":{"phase":"x"}}`)
		h.asked(widgets)
		s.put(widgets+"/a/scale", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"NS"},"spec":{"replicas":3}}`)
		h.asked(widgets)
		s.patch(mergePatch, widgets+"/a", `{"spec":{"size":20}}`)
		h.asked(widgets)
		s.delete(widgets+"/a", "")
		h.asked(widgets)
		h.on("/m", patched(`[{"op":"add","path":"/spec/size","value":"many"}]`))
		s.post(widgets, widget("b", `{"size":1}`))
		h.asked(widgets)
	}},
}
