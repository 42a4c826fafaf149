package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const policyPath = "/apis/admissionregistration.k8s.io/v1/%sadmission%s"

// policy creates a policy and its bindings, and waits until they have an effect. The specs are JSON without the braces.
// See marker for how it waits.
func (s *session) policy(kind, name, spec string, bindings ...string) {
	s.t.Helper()
	sort, name := strings.ToLower(kind), name+"-"+s.ns
	s.post(fmt.Sprintf(policyPath, sort, "policies"), fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"%sAdmissionPolicy","metadata":{"name":%q},"spec":{%s}}`, kind, name, spec))
	s.t.Cleanup(func() { s.discard(fmt.Sprintf(policyPath, sort, "policies") + "/" + name) })
	for i, b := range bindings {
		binding := fmt.Sprintf("%s-%d", name, i)
		s.post(fmt.Sprintf(policyPath, sort, "policybindings"),
			fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"%sAdmissionPolicyBinding","metadata":{"name":%q},"spec":{"policyName":%q,%s}}`, kind, binding, name, b))
		s.t.Cleanup(func() { s.discard(fmt.Sprintf(policyPath, sort, "policybindings") + "/" + binding) })
	}
	if s.real {
		time.Sleep(100 * time.Millisecond) // its watch brings the policy to where the next one is
	}
	s.marker()
}

// marker creates a policy that denies one ConfigMap, and waits until it does: the real server reads policies
// every second, those before it included.
func (s *session) marker() {
	s.t.Helper()
	for _, kind := range []string{"Validating", "Mutating"} {
		sort := strings.ToLower(kind)
		s.markers++
		name := fmt.Sprintf("marker-%d-%s", s.markers, s.ns)
		does := fmt.Sprintf(`"validations":[{"expression":"false","message":%q}]`, name)
		binds := `,"validationActions":["Deny"]`
		if kind == "Mutating" {
			does = fmt.Sprintf(`"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'marker': '%s'}}]"}}]`, name)
			binds = ""
		}
		_, _, _ = s.send("POST", fmt.Sprintf(policyPath, sort, "policies"), fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"%sAdmissionPolicy","metadata":{"name":%q},"spec":{
			"matchConstraints":{"objectSelector":{"matchLabels":{"probe":%q}},"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},%s}}`, kind, name, name, does))
		_, _, _ = s.send("POST", fmt.Sprintf(policyPath, sort, "policybindings"),
			fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"%sAdmissionPolicyBinding","metadata":{"name":%q},"spec":{"policyName":%q%s}}`, kind, name, name, binds))
		if kind == "Validating" {
			s.probe(name, "denied request: "+name)
		} else {
			s.probe(name, `"marker":"`+name)
		}
		s.discard(fmt.Sprintf(policyPath, sort, "policybindings") + "/" + name)
		s.discard(fmt.Sprintf(policyPath, sort, "policies") + "/" + name)
	}
}

// keepParameters creates a policy for each built-in kind that cases use as the paramKind of theirs. It stays until the test
// ends. The real server stops the informer of such a kind with the last policy that uses it, and never starts it again.
func (p pair) keepParameters(t *testing.T) {
	t.Helper()
	s := p.session(t, 0, "kept-parameters")
	for i, kind := range [][2]string{{"v1", "ConfigMap"}, {"events.k8s.io/v1", "Event"}, {"autoscaling/v1", "HorizontalPodAutoscaler"}} {
		s.policy("Validating", fmt.Sprint("kept-", i), onMaps+fmt.Sprintf(`,"paramKind":{"apiVersion":%q,"kind":%q},"validations":[{"expression":"true"}]`, kind[0], kind[1]),
			denies+`,"paramRef":{"name":"none","parameterNotFoundAction":"Allow"}`)
	}
}

// here restricts a binding to the namespace of the case.
const here = `"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"NS"}}}`

const (
	onMaps = `"matchConstraints":{"objectSelector":{"matchExpressions":[{"key":"probe","operator":"DoesNotExist"}]},"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE","DELETE"],"resources":["configmaps"]}]}`
	denies = `"validationActions":["Deny"],` + here
)

// policyCases are about admission policies.
var policyCases = []conformanceCase{
	{"a policy denies", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"validations":[{"expression":"request.operation == 'DELETE' || object.data.k != 'bad'","message":"k is bad"},
			{"expression":"request.operation == 'DELETE' || !has(object.data.n) || int(object.data.n) < 5","messageExpression":"'n is ' + object.data.n","reason":"Forbidden"},
			{"expression":"request.operation == 'DELETE' || !has(object.data.x)"}]`, denies)
		s.get(fmt.Sprintf(policyPath, "validating", "policies") + "/a-NS")
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"bad"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"good","n":"7"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"good","x":""}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"bad","x":"","n":"9"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"good"}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"k":"bad"}}`)
		s.patch(applyPatch, "~/configmaps/a?fieldManager=m&force=true", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"n":"8"}}`)
		s.delete("~/configmaps/a", "")
	}},
	{"policies warn and audit", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"validations":[{"expression":"request.operation == 'DELETE'","message":"only deletes"}],"auditAnnotations":[{"key":"x","valueExpression":"'y'"}]`,
			`"validationActions":["Warn","Audit"],`+here)
		s.post("~/configmaps", configMapOf("a"))
		s.delete("~/configmaps/a", "")
	}},
	{"policies that fail", func(s *session) {
		fails := `,"validations":[{"expression":"object.data.missing == 'x'"}]`
		s.policy("Validating", "a", onMaps+fails+`,"failurePolicy":"Ignore"`, denies)
		s.post("~/configmaps", configMapOf("a"))
		s.policy("Validating", "b", onMaps+fails, denies)
		s.post("~/configmaps", configMapOf("b"))
	}},
	{"conditions and variables of policies", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"matchConditions":[{"name":"guarded","expression":"request.operation != 'DELETE' && 'guarded' in variables.labels"}],
			"variables":[{"name":"labels","expression":"has(object.metadata.labels) ? object.metadata.labels : {}"},{"name":"size","expression":"size(object.data)"}],
			"validations":[{"expression":"variables.size > 1","messageExpression":"'size is ' + string(variables.size) + ' in ' + namespaceObject.metadata.name"}]`, denies)
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/configmaps", configMapOf("b", `"labels":{"guarded":""}`))
	}},
	{"policies see old objects and requests", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"validations":[{"expression":"request.operation != 'UPDATE' || object.data.k == oldObject.data.k","message":"k is for ever"},
			{"expression":"request.operation != 'DELETE' || request.userInfo.username == 'nobody'","messageExpression":"request.userInfo.username + ' may not delete ' + request.namespace + '/' + request.name"},
			{"expression":"authorizer.group('').resource('configmaps').namespace(request.namespace).check('create').allowed()","message":"not allowed"}]`, denies)
		s.post("~/configmaps", configMapOf("a"))
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"k":"w"}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"l":"w"}}`)
		s.delete("~/configmaps/a", "")
	}},
	{"parameters of policies", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"request.operation == 'DELETE' || size(object.data) <= int(params.data.max)","messageExpression":"'more than ' + params.data.max"}]`,
			denies+`,"paramRef":{"name":"limits","parameterNotFoundAction":"Deny"}`)
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"limits","labels":{"probe":"none"}},"data":{"max":"1"}}`)
		s.know("~/configmaps", configMapOf("x"), `"kind":"ConfigMap"`)
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"v","l":"w"}}`)
	}},
	{"parameters that policies choose", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"request.operation == 'DELETE' || object.data.k != params.data.not","messageExpression":"'not ' + params.data.not"}]`,
			denies+`,"paramRef":{"selector":{"matchLabels":{"role":"param"}},"parameterNotFoundAction":"Allow"}`)
		s.post("~/configmaps", configMapOf("a"))
		for _, name := range []string{"p", "q"} {
			s.post("~/configmaps", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"probe":"none","role":"param"}},"data":{"not":%q}}`, name, name))
		}
		s.know("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"k":"p"}}`, `not p`)
		s.know("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"k":"q"}}`, `not q`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"q"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"z"}}`)
	}},
	{"policies about custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.policy("Validating", "a", `"matchConstraints":{"resourceRules":[{"apiGroups":["NS.example.com"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["widgets","widgets/status"]}]},
			"validations":[{"expression":"object.spec.size < 5","message":"too large"},{"expression":"!has(object.status) || object.status.phase != 'bad'","message":"bad phase"}]`, denies)
		s.post(widgets, widget("a", `{"size":7}`))
		s.post(widgets, widget("a", `{"size":3}`))
		s.patch(mergePatch, widgets+"/a/status", `{"status":{"phase":"bad"}}`)
		s.patch(mergePatch, widgets+"/a", `{"spec":{"size":6}}`)
	}},
	{"parameters of a kind that does not exist", func(s *session) {
		s.policy("Validating", "a", onMaps+`,"paramKind":{"apiVersion":"none.example.com/v1","kind":"None"},"validations":[{"expression":"true"}]`, denies+`,"paramRef":{"name":"x","parameterNotFoundAction":"Deny"}`)
		s.post("~/configmaps", configMapOf("a"))
	}},
	{"policies that exclude", func(s *session) {
		s.policy("Validating", "a", `"matchConstraints":{"objectSelector":{"matchExpressions":[{"key":"probe","operator":"DoesNotExist"}]},"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["*"]}],
			"excludeResourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets"]}]},"validations":[{"expression":"false","message":"nothing"}]`, denies)
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
	}},
	{"policies that are not valid", func(s *session) {
		for _, spec := range []string{onMaps + `,"validations":[{"expression":"object.("}]`, onMaps, `"validations":[{"expression":"true"}]`, onMaps + `,"validations":[{"expression":"1 + 1"}]`, onMaps + `,"validations":[{"expression":"params.x == 1"}]`} {
			s.post(fmt.Sprintf(policyPath, "validating", "policies"), `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"NS"},"spec":{`+spec+`}}`)
		}
		s.post(fmt.Sprintf(policyPath, "validating", "policybindings"), `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"NS"},"spec":{"policyName":"x","validationActions":["Deny","Warn"]}}`)
	}},
	{"a policy changes objects", func(s *session) {
		s.policy("Mutating", "a", strings.Replace(onMaps, `,"DELETE"`, "", 1)+`,"reinvocationPolicy":"Never","mutations":[
			{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'mutated': 'yes'}}}"}},
			{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: request.operation}]"}}]`, here)
		s.get(fmt.Sprintf(policyPath, "mutating", "policies") + "/a-NS")
		s.post("~/configmaps", configMapOf("a"))
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"k":"w"}}`)
		s.delete("~/configmaps/a", "")
	}},
	{"policies that change pods", func(s *session) {
		s.policy("Mutating", "a", `"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]},"reinvocationPolicy":"IfNeeded","mutations":[
			{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'side', image: 'x', restartPolicy: 'Always'}]}}"}}]`, here)
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},`+podBody+`}`)
	}},
	{"policies that change custom resources", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		s.await("/openapi/v3", `"apis/NS.example.com/v1"`)
		s.policy("Mutating", "a", `"matchConstraints":{"resourceRules":[{"apiGroups":["NS.example.com"],"apiVersions":["*"],"operations":["CREATE"],"resources":["widgets"]}]},"reinvocationPolicy":"Never","mutations":[
			{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{replicas: 5}}"}}]`, here)
		s.know(widgets, widget("probe", `{"size":1}`), `"replicas":5`)
		s.post(widgets, widget("a", `{"size":1}`))
	}},
	{"policies that change a custom resource of another version", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion+","+strings.NewReplacer(`"name":"v1"`, `"name":"v2"`, `"storage":true`, `"storage":false`).Replace(widgetVersion))
		s.await("/openapi/v3", `"apis/NS.example.com/v2"`)
		for _, policy := range []string{"Equivalent", "Exact"} {
			s.policy("Mutating", strings.ToLower(policy), fmt.Sprintf(`"matchConstraints":{"matchPolicy":%q,"resourceRules":[{"apiGroups":["NS.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["widgets"]}]},"reinvocationPolicy":"Never","mutations":[
				{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'%s': object.apiVersion + ' for ' + request.requestKind.version + ', ' + request.kind.version}}}"}}]`, policy, policy), here)
		}
		second := strings.NewReplacer("/v1", "/v2")
		s.know(widgets, widget("probe", `{"size":1}`), `"Exact":"NS.example.com/v1 for v1`)
		s.know(second.Replace(widgets), second.Replace(widget("probe", `{"size":1}`)), `"Equivalent":"NS.example.com/v1 for v2`)
		s.post(widgets, widget("a", `{"size":1}`))
		s.post(second.Replace(widgets), second.Replace(widget("b", `{"size":1}`)))
	}},
	{"policies whose changes fail", func(s *session) {
		s.policy("Mutating", "a", strings.Replace(onMaps, `,"DELETE"`, "", 1)+`,"reinvocationPolicy":"Never","mutations":[
			{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'remove', path: '/data/none'}]"}}]`, here)
		s.post("~/configmaps", configMapOf("a"))
	}},
}
