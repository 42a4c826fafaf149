package apiserver_test

import (
	"fmt"
	"strings"
)

const podBody = `"spec":{"containers":[{"name":"c","image":"i"}]}`

// flows are the cases about verbs, which are the same for all kinds.
var flows = []conformanceCase{
	{"create and read", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"}}`)
		s.get("~/configmaps/a")
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.get("~/configmaps/nothing")
		s.get("~/nothing")
		s.get("/apis/none/v1/nothing")
		s.do("GET", "~/configmaps/a", "", "Accept", acceptTable)
		s.do("GET", "~/configmaps/a", "", "Accept", acceptPartial)
	}},
	{"names", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Not Valid"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}}`)
		s.post("/api/v1/namespaces/missing/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	}},
	{"bodies", func(s *session) {
		s.post("~/configmaps", `{`)
		s.post("~/configmaps", `{}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
		s.post("~/configmaps", `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":1}}`)
		s.do("POST", "~/configmaps", "x", "Content-Type", "text/plain")
		s.do("POST", "~/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n", "Content-Type", "application/yaml")
		s.do("GET", "~/configmaps/yaml", "", "Accept", "text/plain")
	}},
	{"field validation", func(s *session) {
		const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"},"unknown":1,"data":{"a":"1","a":"2"}}`
		for _, v := range []string{"Strict", "Warn", "Ignore", "Nonsense", ""} {
			s.post("~/configmaps?fieldValidation="+v, fmt.Sprintf(body, "a"+strings.ToLower(v)))
		}
	}},
	{"dry run", func(s *session) {
		s.post("~/configmaps?dryRun=All", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.get("~/configmaps/a")
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.post("~/configmaps?dryRun=All", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.patch(mergePatch, "~/configmaps/a?dryRun=All", `{"data":{"a":"b"}}`)
		s.delete("~/configmaps/a?dryRun=All", "")
		s.get("~/configmaps/a")
		s.post("~/configmaps?dryRun=None", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
	}},
	{"update", func(s *session) {
		a := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.put("~/configmaps/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"unconditional":"yes"}}`)
		s.put("~/configmaps/a", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":%q}}`, a.Metadata.ResourceVersion))
		s.put("~/configmaps/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"11111111-2222-3333-4444-555555555555"}}`)
		s.put("~/configmaps/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		s.put("~/configmaps/none", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"none"}}`)
		b := s.get("~/configmaps/a")
		s.put("~/configmaps/a", b.raw) // changes nothing
		s.get("~/configmaps/a")
	}},
	{"create by update", func(s *session) {
		const lease = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"},"spec":{"holderIdentity":"x","leaseDurationSeconds":5}}`
		s.put("/apis/coordination.k8s.io/v1/namespaces/NS/leases/a", lease)
		s.put("/apis/coordination.k8s.io/v1/namespaces/NS/leases/a", lease)
	}},
	{"patches", func(s *session) {
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},`+podBody+`}`)
		s.patch(mergePatch, "~/pods/a", `{"metadata":{"labels":{"x":"y"}}}`)
		s.patch(mergePatch, "~/pods/a", `{"metadata":{"labels":{"x":"y"}}}`)
		s.patch(jsonPatch, "~/pods/a", `[{"op":"add","path":"/metadata/labels/z","value":"1"}]`)
		s.patch(jsonPatch, "~/pods/a", `[{"op":"test","path":"/metadata/labels/z","value":"2"}]`)
		s.patch(jsonPatch, "~/pods/a", `{"not":"a list"}`)
		s.patch(strategic, "~/pods/a", `{"spec":{"containers":[{"name":"c","image":"other"}]}}`)
		s.patch(strategic, "~/pods/a", `{"spec":{"containers":[{"name":"d","image":"new"}]}}`)
		s.patch(mergePatch, "~/pods/a", `{"metadata":{"resourceVersion":"1"}}`)
		s.patch(mergePatch, "~/pods/none", `{}`)
		s.patch(mergePatch, "~/pods/a", `{"spec":{"nonsense":1}}`)
		s.patch("text/plain", "~/pods/a", `{}`)
	}},
	{"apply", func(s *session) {
		const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"%s"}}`
		s.patch(applyPatch, "~/configmaps/a", fmt.Sprintf(body, "1"))
		s.patch(applyPatch, "~/configmaps/a?fieldManager=one", fmt.Sprintf(body, "1"))
		s.patch(applyPatch, "~/configmaps/a?fieldManager=one", fmt.Sprintf(body, "1"))
		s.patch(applyPatch, "~/configmaps/a?fieldManager=two", fmt.Sprintf(body, "2"))
		s.patch(applyPatch, "~/configmaps/a?fieldManager=two&force=true", fmt.Sprintf(body, "2"))
		s.patch(applyPatch, "~/configmaps/a?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	}},
	{"finalizers", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["example.com/x"]}}`)
		s.delete("~/configmaps/a", "")
		s.delete("~/configmaps/a", "")
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"finalizers":["example.com/x","example.com/y"]}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"finalizers":null}}`)
		s.get("~/configmaps/a")
	}},
	{"delete options", func(s *session) {
		a := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.delete("~/configmaps/a", `{"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}}`)
		s.delete("~/configmaps/a", `{"preconditions":{"resourceVersion":"1"}}`)
		s.delete("~/configmaps/a", `{"propagationPolicy":"Nonsense"}`)
		s.delete("~/configmaps/a", `{"propagationPolicy":"Foreground"}`)
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"finalizers":null}}`)
		b := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.delete("~/configmaps/a?propagationPolicy=Orphan", "")
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"finalizers":null}}`)
		s.delete("~/configmaps/a", "")
		if a.Metadata.UID == b.Metadata.UID {
			s.note("two objects have one uid")
		}
	}},
	{"delete a pod", func(s *session) {
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
		s.delete("~/pods/a", "")
		s.delete("~/pods/a", `{"gracePeriodSeconds":40}`)
		s.delete("~/pods/a", `{"gracePeriodSeconds":10}`)
		s.get("~/pods/a")
		s.delete("~/pods/a", `{"gracePeriodSeconds":0}`)
		s.get("~/pods/a")
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},`+podBody+`}`)
		s.delete("~/pods/b", "")
		s.get("~/pods/b")
	}},
	{"status", func(s *session) {
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},`+podBody+`,"status":{"phase":"Running"}}`)
		s.patch(mergePatch, "~/pods/a", `{"status":{"phase":"Running"}}`)
		s.patch(mergePatch, "~/pods/a/status", `{"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}`)
		s.get("~/pods/a/status")
		s.patch(mergePatch, "~/pods/a/status", `{"status":{"phase":"Nonsense"}}`)
	}},
	{"generation and scale", func(s *session) {
		const path = "/apis/apps/v1/namespaces/NS/deployments"
		s.post(path, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},`+podBody+`}}}`)
		s.patch(mergePatch, path+"/a", `{"metadata":{"labels":{"x":"y"}}}`)
		s.patch(mergePatch, path+"/a", `{"spec":{"paused":true}}`)
		s.patch(mergePatch, path+"/a", `{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`)
		s.get(path + "/a/scale")
		s.patch(mergePatch, path+"/a/scale", `{"spec":{"replicas":7}}`)
		s.put(path+"/a/scale", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"NS"},"spec":{"replicas":-1}}`)
		s.do("GET", path+"/a", "", "Accept", acceptTable)
	}},
	{"bind by the collection of bindings", func(s *session) {
		pod := s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},`+podBody+`}`)
		s.post("~/bindings", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"none"},"target":{"kind":"Node","name":"n"}}`)
		s.post("~/bindings", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","uid":"another"},"target":{"kind":"Node","name":"n"}}`)
		s.post("~/bindings?dryRun=All", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`)
		s.get("~/pods/a")
		s.post("~/bindings", fmt.Sprintf(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","uid":%q},"target":{"name":"n"}}`, pod.Metadata.UID))
		s.get("~/pods/a")
		s.post("~/bindings", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"m"}}`)
		s.post("~/bindings", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"}}`)
		s.get("~/bindings")
		s.get("~/bindings/a")
	}},
	{"bind", func(s *session) {
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},`+podBody+`}`)
		s.post("~/pods/a/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`)
		s.post("~/pods/a/binding", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"m"}}`)
		s.get("~/pods/a")
	}},
	{"priority", func(s *session) {
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priorityClassName":"none","containers":[{"name":"c","image":"i"}]}}`)
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priorityClassName":"system-node-critical","containers":[{"name":"c","image":"i"}]}}`)
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"priority":7,"containers":[{"name":"c","image":"i"}]}}`)
	}},
	{"immutable", func(s *session) {
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"k":"v"},"immutable":true}`)
		s.patch(mergePatch, "~/secrets/a", `{"stringData":{"k":"w"}}`)
		s.patch(mergePatch, "~/secrets/a", `{"type":"example.com/other"}`)
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"},"type":"kubernetes.io/tls","data":{}}`)
	}},
	{"services", func(s *session) {
		a := s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[{"name":"x","port":80},{"name":"y","port":81}]}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless"},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"outside"},"spec":{"clusterIP":"192.168.1.1","ports":[{"port":80}]}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"low"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":80}]}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"six"},"spec":{"ipFamilies":["IPv6"],"ports":[{"port":80}]}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"name"},"spec":{"type":"ExternalName","externalName":"example.com"}}`)
		s.patch(mergePatch, "~/services/a", `{"spec":{"clusterIP":"10.0.0.250"}}`)
		s.patch(mergePatch, "~/services/a", `{"spec":{"type":"ClusterIP"}}`)
		s.patch(mergePatch, "~/services/a", `{"spec":{"type":"ExternalName","externalName":"example.com"}}`)
		s.delete("~/services/a", "")
		if a.Metadata.UID == "" {
			s.note("the Service was not created")
		}
	}},
	{"a service gets an external name", func(s *session) {
		a := s.patch(applyPatch, "~/services/a?fieldManager=m", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}`)
		s.patch(mergePatch, "~/services/a", `{"spec":{"type":"ExternalName","externalName":"x.example"}}`)
		s.get("~/services/a")
		s.get("~/services")
		s.do("GET", "~/services/a", "", "Accept", yamlType)
		s.watch("~/services?watch=1&resourceVersion=" + a.Metadata.ResourceVersion).next(1)
		s.delete("~/services/a", "")
	}},
	{"namespaces", func(s *session) {
		s.post("/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS-x"}}`)
		s.delete("/api/v1/namespaces/NS-x", "")
		s.delete("/api/v1/namespaces/NS-x", "")
		s.post("/api/v1/namespaces/NS-x/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.put("/api/v1/namespaces/NS-x/finalize", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS-x"},"spec":{"finalizers":[]}}`)
		s.get("/api/v1/namespaces/NS-x")
		s.delete("/api/v1/namespaces/default", "")
		s.post("/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"Not_Valid"}}`)
	}},
	{"lists", func(s *session) {
		for i := range 5 {
			s.post("~/configmaps", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m%d","labels":{"n":"%d"}}}`, i, i%2))
		}
		s.get("~/configmaps")
		s.get("~/configmaps?labelSelector=n%3D1")
		s.get("~/configmaps?labelSelector=n+in+(0),n!%3D1")
		s.get("~/configmaps?labelSelector=%21%21")
		s.get("~/configmaps?fieldSelector=metadata.name%3Dm3")
		s.get("~/configmaps?fieldSelector=metadata.name%3Dnone")
		s.get("~/configmaps?fieldSelector=data%3Dm3")
		s.get("~/configmaps?fieldSelector=metadata.name%21%3Dm3&labelSelector=n%3D1")
		s.do("GET", "~/configmaps", "", "Accept", acceptTable)
		s.do("GET", "~/configmaps?limit=2", "", "Accept", strings.ReplaceAll(acceptPartial, "Metadata;", "MetadataList;"))
		s.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3DNS")
		s.get("~/secrets")
	}},
	{"pages", func(s *session) {
		for i := range 5 {
			s.post("~/configmaps", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m%d"}}`, i))
		}
		page := s.get("~/configmaps?limit=2")
		s.delete("~/configmaps/m2", "")
		s.patch(mergePatch, "~/configmaps/m3", `{"data":{"a":"new"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m9"}}`)
		page = s.get("~/configmaps?limit=2&continue=" + page.Metadata.Continue)
		s.get("~/configmaps?limit=2&continue=" + page.Metadata.Continue)
		s.get("~/configmaps?limit=2&continue=nonsense")
		s.get("~/configmaps?limit=2&resourceVersion=0")
		s.get("~/configmaps?limit=-1")
		s.get("~/configmaps?limit=x")
		s.get("~/configmaps?limit=2&labelSelector=a!%3Db")
	}},
	{"versions of lists", func(s *session) {
		a := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		version := "resourceVersion=" + a.Metadata.ResourceVersion
		s.get("~/configmaps?resourceVersionMatch=Exact&" + version)
		s.get("~/configmaps?limit=1&" + version)
		s.get("~/configmaps?resourceVersionMatch=Exact")
		s.get("~/configmaps?resourceVersionMatch=Nonsense&" + version)
		s.get("~/configmaps?resourceVersion=x")
		s.get("~/configmaps?resourceVersion=0&resourceVersionMatch=Exact")
	}},
	{"delete a collection", func(s *session) {
		for i := range 4 {
			s.post("~/configmaps", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m%d","labels":{"n":"%d"}}}`, i, i%2))
		}
		s.patch(mergePatch, "~/configmaps/m1", `{"metadata":{"finalizers":["example.com/x"]}}`)
		s.delete("~/configmaps?labelSelector=n%3D1", "")
		s.get("~/configmaps/m1") // not a list: the real server deletes in any order, and so chooses versions
		s.get("~/configmaps/m2")
		s.get("~/configmaps/m3")
		s.delete("~/configmaps?fieldSelector=nonsense%3D1", "")
	}},
	{"watch", func(s *session) {
		a := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		w := s.watch("~/configmaps?watch=true&resourceVersion=" + a.Metadata.ResourceVersion)
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"a":"b"}}`)
		w.next(1)
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"a":"b"}}`) // shows nothing
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		s.delete("~/configmaps/a", "")
		w.next(2)
	}},
	{"watch from the beginning", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		w := s.watch("~/configmaps?watch=true")
		w.next(2)
		s.watch("~/configmaps?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Db").next(1)
		s.delete("~/configmaps/a", "")
		w.next(1)
	}},
	{"watch with selectors", func(s *session) {
		a := s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		w := s.watch("~/configmaps?watch=true&labelSelector=on%3Dyes&resourceVersion=" + a.Metadata.ResourceVersion)
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"labels":{"on":"yes"}}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"a":"b"}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"labels":{"on":"no"}}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"metadata":{"labels":{"on":"yes"}}}`)
		s.delete("~/configmaps/a", "")
		w.next(5)
		p := s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},`+podBody+`}`)
		w = s.watch("~/pods?watch=true&fieldSelector=status.phase%3DRunning&resourceVersion=" + p.Metadata.ResourceVersion)
		s.patch(mergePatch, "~/pods/a/status", `{"status":{"phase":"Running"}}`)
		s.patch(mergePatch, "~/pods/a/status", `{"status":{"phase":"Succeeded"}}`)
		w.next(2)
	}},
	{"watch ends", func(s *session) {
		w := s.watch("~/configmaps?watch=true&resourceVersion=0&timeoutSeconds=1")
		w.end()
		for _, query := range []string{"resourceVersion=x", "sendInitialEvents=true", "resourceVersionMatch=Exact&resourceVersion=0", "timeoutSeconds=x", "labelSelector=%21%21"} {
			s.watch("~/configmaps?watch=true&timeoutSeconds=1&" + query).end()
		}
	}},
	{"reviews", func(s *session) {
		const access, authn = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
		attributes := `"resourceAttributes":{"verb":"get","resource":"pods","namespace":"NS"}`
		s.post(access+"/selfsubjectaccessreviews", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{`+attributes+`}}`)
		s.post(access+"/selfsubjectaccessreviews", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{}}`)
		s.post(access+"/subjectaccessreviews", `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u","groups":["system:masters"],`+attributes+`}}`)
		s.post(access+"/namespaces/NS/localsubjectaccessreviews", `{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","spec":{"user":"u","groups":["system:masters"],"resourceAttributes":{"verb":"get","resource":"pods","namespace":"other"}}}`)
		s.post(authn+"/tokenreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{}}`)
	}},
	{"eviction", func(s *session) {
		const evict = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s"}}`
		const budgets = "/apis/policy/v1/namespaces/NS/poddisruptionbudgets"
		pod := func(name string) {
			s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`","labels":{"a":"b"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
		}
		pod("pending")
		s.post("~/pods/pending/eviction", fmt.Sprintf(evict, "pending"))
		s.post("~/pods/none/eviction", fmt.Sprintf(evict, "none"))
		s.post("~/pods/pending/eviction", fmt.Sprintf(evict, "other"))
		s.post(budgets, `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}`)
		pod("run")
		s.patch(mergePatch, "~/pods/run/status", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
		s.post("~/pods/run/eviction", fmt.Sprintf(evict, "run"))
		s.patch(mergePatch, budgets+"/p/status", `{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1,"disruptionsAllowed":0}}`)
		s.post("~/pods/run/eviction", fmt.Sprintf(evict, "run"))
		s.patch(mergePatch, budgets+"/p/status", `{"status":{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2,"disruptionsAllowed":1}}`)
		s.post("~/pods/run/eviction?dryRun=All", fmt.Sprintf(evict, "run"))
		s.post("~/pods/run/eviction", fmt.Sprintf(evict, "run"))
		s.get("~/pods/run")
		s.get(budgets + "/p")
	}},
	{"schemas", func(s *session) {
		for _, path := range []string{"apis/apps/v1", "apis/batch/v1", "apis/networking.k8s.io/v1"} {
			s.get("/openapi/v3/" + path)
		}
	}},
	{"what there is at the start", func(s *session) {
		s.do("GET", "/api/v1/namespaces/default/services/kubernetes", "", "Accept", acceptTable)
		s.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
		s.get("/api/v1/namespaces/kube-public")
		s.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")
	}},
	{"a streaming list", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		w := s.watch("~/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
		w.next(3)
	}},
}
