package apiserver_test

import "fmt"

// limited is a Pod with resources.
func limited(name, resources string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i","resources":%s}]}}`, name, resources)
}

// defaultCases are about the admission that servers have by default.
var defaultCases = []conformanceCase{
	{"limit ranges set defaults", func(s *session) {
		s.post("~/limitranges", `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"500m","memory":"1Gi"},"defaultRequest":{"cpu":"100m"}}]}}`)
		s.know("~/pods", limited("x", "{}"), "limit-ranger")
		s.post("~/pods", limited("a", "{}"))
		s.post("~/pods", limited("b", `{"limits":{"cpu":"2"}}`))
		s.post("~/pods", limited("c", `{"requests":{"cpu":"700m"}}`))
	}},
	{"limit ranges refuse", func(s *session) {
		s.post("~/limitranges", `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"},"min":{"cpu":"100m"},"maxLimitRequestRatio":{"cpu":"2"}},
			{"type":"Pod","max":{"memory":"1Gi"}},{"type":"PersistentVolumeClaim","max":{"storage":"1Gi"},"min":{"storage":"1Mi"}}]}}`)
		s.know("~/pods", limited("x", `{"limits":{"cpu":"2"}}`), "forbidden")
		s.post("~/pods", limited("a", `{"limits":{"cpu":"2","memory":"1Mi"}}`))
		s.post("~/pods", limited("a", `{"limits":{"cpu":"50m","memory":"1Mi"}}`))
		s.post("~/pods", limited("a", `{"limits":{"cpu":"900m","memory":"1Mi"},"requests":{"cpu":"100m"}}`))
		s.post("~/pods", limited("a", `{"limits":{"cpu":"200m"},"requests":{"cpu":"200m"}}`))
		s.post("~/pods", limited("a", `{"limits":{"cpu":"200m","memory":"1Mi"},"requests":{"cpu":"200m"}}`))
		claim := `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"p"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":%q}}}}`
		s.post("~/persistentvolumeclaims", fmt.Sprintf(claim, "2Gi"))
		s.post("~/persistentvolumeclaims", fmt.Sprintf(claim, "1Ki"))
		s.post("~/persistentvolumeclaims", fmt.Sprintf(claim, "1Gi"))
	}},
	{"quotas without a status", func(s *session) {
		s.post("~/resourcequotas", `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"configmaps":"2","pods":"1"}}}`)
		s.post("~/configmaps", configMapOf("a"))
		s.post("~/pods", limited("a", "{}"))
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
	}},
	{"quotas count", func(s *session) {
		hard := `"hard":{"configmaps":"2","pods":"2","requests.cpu":"1","count/secrets":"1","services.nodeports":"0"}`
		s.post("~/resourcequotas", `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{`+hard+`}}`)
		s.patch(mergePatch, "~/resourcequotas/q/status", `{"status":{`+hard+`,"used":{"configmaps":"1","pods":"0","requests.cpu":"0","count/secrets":"0","services.nodeports":"0"}}}`)
		s.know("~/pods", limited("x", `{"requests":{"cpu":"2"}}`), "exceeded quota")
		s.post("~/configmaps?dryRun=All", configMapOf("a"))
		s.get("~/resourcequotas/q")
		s.post("~/configmaps", configMapOf("a"))
		s.get("~/resourcequotas/q")
		s.know("~/configmaps", configMapOf("x"), "exceeded quota")
		s.post("~/configmaps", configMapOf("b"))
		s.post("~/pods", limited("a", `{}`))
		s.post("~/pods", limited("a", `{"requests":{"cpu":"600m"}}`))
		s.get("~/resourcequotas/q")
		s.post("~/pods", limited("b", `{"requests":{"cpu":"600m"}}`))
		s.post("~/pods", limited("b", `{"requests":{"cpu":"400m"}}`))
		s.post("~/pods", limited("c", `{"requests":{"cpu":"0"}}`))
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"n"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`)
		s.get("~/resourcequotas/q")
	}},
	{"quotas of a scope", func(s *session) {
		s.post("~/resourcequotas", `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"pods":"0"},"scopes":["BestEffort"]}}`)
		s.patch(mergePatch, "~/resourcequotas/q/status", `{"status":{"hard":{"pods":"0"},"used":{"pods":"0"}}}`)
		s.know("~/pods", limited("x", `{}`), "exceeded quota")
		s.post("~/pods", limited("a", `{}`))
		s.post("~/pods", limited("a", `{"requests":{"cpu":"1"}}`))
	}},
	{"pod security", func(s *session) {
		s.patch(mergePatch, "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/warn":"restricted","pod-security.kubernetes.io/audit":"restricted"}}}`)
		bad := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]}}`
		s.know("~/pods", bad, "PodSecurity")
		s.post("~/pods", bad)
		s.post("~/pods", limited("a", `{}`))
		s.post("/apis/apps/v1/namespaces/NS/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostPID":true,"containers":[{"name":"c","image":"i"}]}}}}`)
		s.patch(mergePatch, "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
		s.patch(mergePatch, "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"nonsense"}}}`)
	}},
	{"the default storage class", func(s *session) {
		s.post("/apis/storage.k8s.io/v1/storageclasses", `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast-NS","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"none"}`)
		s.t.Cleanup(func() { s.discard("/apis/storage.k8s.io/v1/storageclasses/fast-" + s.ns) })
		claim := `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":%q},"spec":{%s"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`
		s.know("~/persistentvolumeclaims", fmt.Sprintf(claim, "x", ""), "fast-NS")
		s.post("~/persistentvolumeclaims", fmt.Sprintf(claim, "a", ""))
		s.post("~/persistentvolumeclaims", fmt.Sprintf(claim, "b", `"storageClassName":"",`))
		s.patch(mergePatch, "~/persistentvolumeclaims/a/status", `{"status":{"phase":"Bound"}}`)
		s.patch(mergePatch, "~/persistentvolumeclaims/a", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
		s.patch(mergePatch, "~/persistentvolumeclaims/b", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	}},
	{"the default ingress class", func(s *session) {
		s.post("/apis/networking.k8s.io/v1/ingressclasses", `{"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":"front-NS","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"x/y"}}`)
		s.t.Cleanup(func() { s.discard("/apis/networking.k8s.io/v1/ingressclasses/front-" + s.ns) })
		ingress := `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`
		s.know("/apis/networking.k8s.io/v1/namespaces/NS/ingresses", fmt.Sprintf(ingress, "x"), "front-NS")
		s.post("/apis/networking.k8s.io/v1/namespaces/NS/ingresses", fmt.Sprintf(ingress, "a"))
	}},
	{"runtime classes", func(s *session) {
		s.post("/apis/node.k8s.io/v1/runtimeclasses", `{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"case-runtime-classes"},"handler":"h","overhead":{"podFixed":{"cpu":"10m"}},"scheduling":{"nodeSelector":{"a":"b"}}}`)
		s.t.Cleanup(func() { s.discard("/apis/node.k8s.io/v1/runtimeclasses/case-runtime-classes") })
		pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"runtimeClassName":%q,"containers":[{"name":"c","image":"i"}]%s}}`
		s.know("~/pods", fmt.Sprintf(pod, "case-runtime-classes", ""), "10m")
		s.post("~/pods", fmt.Sprintf(pod, "missing", ""))
		s.post("~/pods", fmt.Sprintf(pod, "case-runtime-classes", `,"nodeSelector":{"a":"c"}`))
		s.post("~/pods", fmt.Sprintf(pod, "case-runtime-classes", `,"overhead":{"cpu":"20m"}`))
		s.post("~/pods", fmt.Sprintf(pod, "case-runtime-classes", ""))
	}},
	{"subjects of certificates", func(s *session) {
		const masters = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KbWFzdGVycwotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
		s.post("/apis/certificates.k8s.io/v1/certificatesigningrequests", `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"NS"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"],"request":"`+masters+`"}}`)
	}},
}
