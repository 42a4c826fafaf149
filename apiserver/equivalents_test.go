package apiserver_test

import (
	"fmt"
	"strings"
)

// twin is a resource that is served in two ways. A rule may name the one while a request is for the other.
type twin struct {
	resource  string
	ways      [2]way
	more      string // a subresource; "" for none
	ofMessage string // CEL: what of variables.o tells the ways apart
}

// way is a group and version of a resource, and fields of an object.
type way struct{ group, version, kind, fields string }

func (w way) path(resource string) string {
	if w.group == "" {
		return "~/" + resource
	}
	return fmt.Sprintf("/apis/%s/%s/namespaces/NS/%s", w.group, w.version, resource)
}

func (w way) object(name, metadata string) string {
	version := w.version
	if w.group != "" {
		version = w.group + "/" + version
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q%s},%s}`, version, w.kind, name, metadata, w.fields)
}

// only is what a policy or webhook of one way matches.
func (t twin) only(w way, matchPolicy string) string {
	return fmt.Sprintf(`"matchPolicy":%q,"resourceRules":[{"apiGroups":[%q],"apiVersions":[%q],"operations":["*"],"resources":["%s","%[4]s/*"]}]`, matchPolicy, w.group, w.version, t.resource)
}

const (
	eventFields  = `"involvedObject":{"kind":"Pod","name":"p","namespace":"NS"},"reason":"R","message":"M","type":"Normal"`
	newerEvent   = `"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c.example/x","reportingInstance":"i","action":"A","reason":"R","note":"M","type":"Normal","regarding":{"kind":"Pod","name":"p","namespace":"NS"}`
	scalerFields = `"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"maxReplicas":3}`
	gadgetsOfTwo = `{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
		{"name":"v2","served":true,"storage":false,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
)

var (
	twoEvents  = twin{"events", [2]way{{"", "v1", "Event", eventFields}, {"events.k8s.io", "v1", "Event", newerEvent}}, "", "has(variables.o.regarding) ? variables.o.regarding.name : variables.o.involvedObject.name + ' of the old form'"}
	twoScalers = twin{"horizontalpodautoscalers", [2]way{{"autoscaling", "v1", "HorizontalPodAutoscaler", scalerFields}, {"autoscaling", "v2", "HorizontalPodAutoscaler", scalerFields}}, "/status",
		"has(variables.o.spec.metrics) ? 'metrics' : has(variables.o.spec.targetCPUUtilizationPercentage) ? 'percentage' : 'none'"}
	twoGadgets = twin{"gadgets", [2]way{{"NS.example.com", "v1", "Gadget", `"x":1`}, {"NS.example.com", "v2", "Gadget", `"x":1`}}, "/status", "variables.o.x"}
)

// policies asks about policies that name one way. One with Equivalent denies, and one with Exact warns.
func (t twin) policies(s *session, named way) {
	does := `,"variables":[{"name":"o","expression":"request.operation == 'DELETE' ? oldObject : object"}],
		"validations":[{"expression":"request.operation == 'CREATE' && has(variables.o.metadata.labels)","messageExpression":"[request.operation, request.kind.group, request.kind.version, request.kind.kind, request.requestKind.group,` +
		`request.requestKind.version,request.requestKind.kind,request.resource.group,request.resource.version,request.requestResource.group,request.requestResource.version,string(variables.o.apiVersion), string(` + t.ofMessage + `)].join(' ')"}]`
	s.policy("Validating", "a", `"matchConstraints":{`+t.only(named, "Equivalent")+`}`+does, denies)
	s.policy("Validating", "b", `"matchConstraints":{`+t.only(named, "Exact")+`}`+does, `"validationActions":["Warn"],`+here)
	s.know(named.path(t.resource), named.object("probe", ""), "denied request: CREATE "+named.group)
	t.ask(s)
}

// ask writes objects in both ways. The policies allow to create those with labels, and nothing else.
func (t twin) ask(s *session) {
	for i, w := range t.ways {
		name, path := fmt.Sprint("o", i), w.path(t.resource)
		s.post(path, w.object(name, ""))
		s.post(path, w.object(name, `,"labels":{"a":"b"}`))
		for _, other := range t.ways {
			s.patch(mergePatch, other.path(t.resource)+"/"+name, `{"metadata":{"labels":{"c":"d"}}}`)
			if t.more != "" {
				s.patch(mergePatch, other.path(t.resource)+"/"+name+t.more, `{"status":{"currentReplicas":2,"desiredReplicas":2}}`)
			}
			s.delete(other.path(t.resource)+"/"+name, "")
		}
		s.get(path + "/" + name)
	}
}

// equivalentCases are about rules of policies and webhooks that name another group or version of what is written.
var equivalentCases = []conformanceCase{
	{"policies of Events of the core group", func(s *session) { twoEvents.policies(s, twoEvents.ways[0]) }},
	{"policies of Events of the newer group", func(s *session) { twoEvents.policies(s, twoEvents.ways[1]) }},
	{"policies of an older version", func(s *session) { twoScalers.policies(s, twoScalers.ways[0]) }},
	{"policies of a newer version", func(s *session) { twoScalers.policies(s, twoScalers.ways[1]) }},
	{"policies of one version of custom resources", func(s *session) {
		define(s, "gadgets", "Gadget", gadgetsOfTwo)
		s.await("/apis/NS.example.com/v2/gadgets", `"items"`)
		twoGadgets.policies(s, twoGadgets.ways[1])
	}},
	{"webhooks of Events of one group", func(s *session) {
		h := newHooks(s)
		for i, w := range twoEvents.ways {
			name, hook := fmt.Sprint("hook", i), func(path, matchPolicy, operations string) string {
				return h.hook(path, fmt.Sprintf(`"matchPolicy":%q,"rules":[{"apiGroups":[%q],"apiVersions":["v1"],"operations":[%s],"resources":["events"]}]`, matchPolicy, w.group, operations))
			}
			text := []string{"message", "note"}[i]
			h.on("/m", func(r review) string {
				return patched(fmt.Sprintf(`[{"op":"add","path":"/%s","value":"changed"}]`, text))(r)
			})
			h.on("/v", allow())
			h.on("/n", allow())
			h.configure("Mutating", "m"+name, hook("/m", "Equivalent", `"CREATE","UPDATE"`), hook("/n", "Exact", `"*"`))
			h.configure("Validating", "v"+name, hook("/v", "Equivalent", `"*"`))
			h.forget()
			for j, to := range twoEvents.ways {
				name, path := fmt.Sprintf("o%d%d", i, j), to.path("events")
				s.post(path, to.object(name, ""))
				h.asked(path)
				s.patch(mergePatch, path+"/"+name, `{"metadata":{"labels":{"c":"d"}}}`)
				s.delete(path+"/"+name, "")
				h.asked(path)
			}
			h.remove("Mutating", "m"+name)
			h.remove("Validating", "v"+name)
		}
	}},
	{"policies that change another group or version", func(s *session) {
		for i, t := range []twin{twoEvents, twoScalers} {
			for j, w := range t.ways {
				field := []string{"message: 'changed'", "note: 'changed'", "spec: Object.spec{maxReplicas: 4}", "spec: Object.spec{maxReplicas: 5}"}[2*i+j]
				name := fmt.Sprintf("p%d%d", i, j)
				s.policy("Mutating", name, `"matchConstraints":{"objectSelector":{"matchLabels":{"for":"`+name+`"}},`+t.only(w, "Equivalent")+
					`},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{`+field+
					`, metadata: Object.metadata{labels: {'of': ['x', request.kind.group, request.kind.version, request.requestKind.group, request.requestKind.version].join('-')}}}"}}]`, here)
				for k, to := range t.ways {
					s.post(to.path(t.resource), to.object(fmt.Sprint(name, "-", k), fmt.Sprintf(`,"labels":{"for":%q}`, name)))
				}
			}
		}
	}},
	{"parameters of policies in another group or version", func(s *session) {
		s.post("~/events", twoEvents.ways[0].object("limits", ""))
		s.post(twoScalers.ways[1].path(twoScalers.resource), twoScalers.ways[1].object("limits", ""))
		for i, p := range [][3]string{{"events.k8s.io/v1", "Event", "note"}, {"autoscaling/v1", "HorizontalPodAutoscaler", "spec.targetCPUUtilizationPercentage"}} {
			s.policy("Validating", fmt.Sprint("p", i), strings.Replace(onMaps, `"matchExpressions":[`, fmt.Sprintf(`"matchLabels":{"for":%q},"matchExpressions":[`, p[1]), 1)+
				fmt.Sprintf(`,"paramKind":{"apiVersion":%q,"kind":%q},"validations":[{"expression":"false","messageExpression":"'it has ' + string(params.%s)"}]`, p[0], p[1], p[2]),
				denies+`,"paramRef":{"name":"limits","parameterNotFoundAction":"Deny"}`)
			s.know("~/configmaps", configMapOf("x", fmt.Sprintf(`"labels":{"for":%q}`, p[1])), "it has ")
			s.post("~/configmaps", configMapOf("x", fmt.Sprintf(`"labels":{"for":%q}`, p[1])))
		}
	}},
}
