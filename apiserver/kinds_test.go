package apiserver_test

// kindOf is a kind, with a small object of it.
type kindOf struct {
	path string // of the collection
	kind string // apiVersion and kind
	rest string // of the object: all but its metadata
	// status is a valid status; "" if the kind has none.
	status string
}

// kinds has each kind.
var kinds = []kindOf{
	{"~/configmaps", "v1 ConfigMap", `"data":{"a":"b"}`, ""},
	{"~/endpoints", "v1 Endpoints", `"subsets":[{"addresses":[{"ip":"10.1.2.3"}],"ports":[{"port":80}]}]`, ""},
	{"~/events", "v1 Event", `"involvedObject":{"kind":"Pod","name":"p","namespace":"NS"},"reason":"R","message":"M","type":"Normal"`, ""},
	{"~/limitranges", "v1 LimitRange", `"spec":{"limits":[{"type":"Pod","max":{"memory":"1Gi"}}]}`, ""},
	{"~/persistentvolumeclaims", "v1 PersistentVolumeClaim", `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`, `{"phase":"Bound"}`},
	{"/api/v1/persistentvolumes", "v1 PersistentVolume", `"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}`, `{"phase":"Available"}`},
	{"~/pods", "v1 Pod", podBody, `{"phase":"Running"}`},
	{"~/podtemplates", "v1 PodTemplate", `"template":{` + podBody + `}`, ""},
	{"~/replicationcontrollers", "v1 ReplicationController", `"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},` + podBody + `}}`, `{"replicas":1}`},
	{"~/resourcequotas", "v1 ResourceQuota", `"spec":{"hard":{"pods":"5"}}`, `{"used":{"pods":"1"}}`},
	{"~/secrets", "v1 Secret", `"stringData":{"a":"b"}`, ""},
	{"~/services", "v1 Service", `"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}`, `{"loadBalancer":{}}`},
	{"~/serviceaccounts", "v1 ServiceAccount", `"automountServiceAccountToken":false`, ""},
	{"/api/v1/namespaces", "v1 Namespace", `"spec":{}`, `{"conditions":[{"type":"X","status":"True"}]}`},
	{"/api/v1/nodes", "v1 Node", `"spec":{"podCIDR":"10.2.0.0/24"}`, `{"capacity":{"cpu":"1"}}`},
	{"/apis/apps/v1/namespaces/NS/controllerrevisions", "apps/v1 ControllerRevision", `"data":{"a":1},"revision":1`, ""},
	{"/apis/apps/v1/namespaces/NS/daemonsets", "apps/v1 DaemonSet", `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + podBody + `}}`, `{"observedGeneration":1}`},
	{"/apis/apps/v1/namespaces/NS/deployments", "apps/v1 Deployment", `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + podBody + `}}`, `{"replicas":1,"observedGeneration":1}`},
	{"/apis/apps/v1/namespaces/NS/replicasets", "apps/v1 ReplicaSet", `"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + podBody + `}}`, `{"replicas":1}`},
	{"/apis/apps/v1/namespaces/NS/statefulsets", "apps/v1 StatefulSet", `"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + podBody + `}}`, `{"replicas":1}`},
	{"/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers", "autoscaling/v2 HorizontalPodAutoscaler", `"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}`, `{"currentReplicas":1,"desiredReplicas":1}`},
	{"/apis/autoscaling/v1/namespaces/NS/horizontalpodautoscalers", "autoscaling/v1 HorizontalPodAutoscaler", `"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}`, ""},
	{"/apis/batch/v1/namespaces/NS/jobs", "batch/v1 Job", `"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`, `{"active":1}`},
	{"/apis/batch/v1/namespaces/NS/cronjobs", "batch/v1 CronJob", `"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}`, `{"lastScheduleTime":"2026-01-01T00:00:00Z"}`},
	{"/apis/coordination.k8s.io/v1/namespaces/NS/leases", "coordination.k8s.io/v1 Lease", `"spec":{"holderIdentity":"h"}`, ""},
	{"/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices", "discovery.k8s.io/v1 EndpointSlice", `"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"]}]`, ""},
	{"/apis/events.k8s.io/v1/namespaces/NS/events", "events.k8s.io/v1 Event", `"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c.example/x","reportingInstance":"i","action":"A","reason":"R","type":"Normal","regarding":{"kind":"Pod","name":"p","namespace":"NS"}`, ""},
	{"/apis/networking.k8s.io/v1/namespaces/NS/ingresses", "networking.k8s.io/v1 Ingress", `"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}`, `{"loadBalancer":{"ingress":[{"ip":"10.1.2.3"}]}}`},
	{"/apis/networking.k8s.io/v1/ingressclasses", "networking.k8s.io/v1 IngressClass", `"spec":{"controller":"example.com/x"}`, ""},
	{"/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies", "networking.k8s.io/v1 NetworkPolicy", `"spec":{"podSelector":{}}`, ""},
	{"/apis/node.k8s.io/v1/runtimeclasses", "node.k8s.io/v1 RuntimeClass", `"handler":"h"`, ""},
	{"/apis/policy/v1/namespaces/NS/poddisruptionbudgets", "policy/v1 PodDisruptionBudget", `"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`, `{"observedGeneration":1,"currentHealthy":1}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1 ClusterRole", `"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`, ""},
	{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "rbac.authorization.k8s.io/v1 ClusterRoleBinding", `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}`, ""},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles", "rbac.authorization.k8s.io/v1 Role", `"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`, ""},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings", "rbac.authorization.k8s.io/v1 RoleBinding", `"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"u"}]`, ""},
	{"/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1 PriorityClass", `"value":7`, ""},
	{"/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1 CSIDriver", `"spec":{}`, ""},
	{"/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1 CSINode", `"spec":{"drivers":[{"name":"d","nodeID":"n"}]}`, ""},
	{"/apis/storage.k8s.io/v1/namespaces/NS/csistoragecapacities", "storage.k8s.io/v1 CSIStorageCapacity", `"storageClassName":"s"`, ""},
	{"/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1 StorageClass", `"provisioner":"example.com/x"`, ""},
	{"/apis/storage.k8s.io/v1/volumeattachments", "storage.k8s.io/v1 VolumeAttachment", `"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"p"}}`, `{"attached":true}`},
	{"/apis/certificates.k8s.io/v1/certificatesigningrequests", "certificates.k8s.io/v1 CertificateSigningRequest", `"spec":{"request":"` + certificateRequest + `","signerName":"example.com/x","usages":["client auth"]}`, ""},
	{"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", `"webhooks":[]`, ""},
	{"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy", `"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"]}]},"validations":[{"expression":"object.metadata.name != 'x'"}]}`, `{"observedGeneration":1}`},
	{"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding", `"spec":{"policyName":"p","validationActions":["Deny"]}`, ""},
	{"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy", `"spec":{"reinvocationPolicy":"Never","matchConstraints":{"resourceRules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"]}]},"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \"add\", path: \"/x\", value: \"y\"}]"}}]}`, ""},
	{"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding", `"spec":{"policyName":"p"}`, ""},
	{"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration", `"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":1,"limitResponse":{"type":"Reject"}}}`, ""},
	{"/apis/networking.k8s.io/v1/servicecidrs", "networking.k8s.io/v1 ServiceCIDR", `"spec":{"cidrs":["10.99.0.0/24"]}`, `{"conditions":[{"type":"Ready","status":"True","reason":"R","message":"M","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`},
	{"/apis/resource.k8s.io/v1/deviceclasses", "resource.k8s.io/v1 DeviceClass", `"spec":{"selectors":[{"cel":{"expression":"true"}}]}`, ""},
	{"/apis/resource.k8s.io/v1/namespaces/NS/resourceclaims", "resource.k8s.io/v1 ResourceClaim", `"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}`, ""},
	{"/apis/resource.k8s.io/v1/namespaces/NS/resourceclaimtemplates", "resource.k8s.io/v1 ResourceClaimTemplate", `"spec":{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}}`, ""},
	{"/apis/resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1 ResourceSlice", `"spec":{"driver":"d.example.com","nodeName":"n","pool":{"name":"p","generation":1,"resourceSliceCount":1}}`, ""},
	{"/apis/storage.k8s.io/v1/volumeattributesclasses", "storage.k8s.io/v1 VolumeAttributesClass", `"driverName":"d.example.com","parameters":{"a":"b"}`, ""},
	{"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", `"webhooks":[]`, ""},
	{"/apis/apiregistration.k8s.io/v1/apiservices", "apiregistration.k8s.io/v1 APIService", `"spec":{"group":"GROUP","version":"v1","groupPriorityMinimum":100,"versionPriority":10}`, ""},
	{"/apis/networking.k8s.io/v1/ipaddresses", "networking.k8s.io/v1 IPAddress", `"spec":{"parentRef":{"resource":"services","namespace":"NS","name":"s"}}`, ""},
}

// certificateRequest is a request for a certificate, as PEM in base64.
const certificateRequest = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0tBZ0VBTUNneEZEQVNCZ05WQkFvTUMyTnZibVp2Y20xaGJtTmxNUkF3RGdZRFZRUUREQWR6YjIxbApiMjVsTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFUk1udi9rY3A3dDZjKzcraDhKUEtzQ1ZTCkduVzZJZEdBQVE5UlY1VEo4TUNZMlFxYVlUY2tsdmY1MCtKbENicmhKbUxkSm02RlJaREJJd2FNWkFIMnlxQUEKTUFvR0NDcUdTTTQ5QkFNQ0EwY0FNRVFDSUhQMkRyUjh5eE9oZGhWaC9abWdsMTJYemxrL3JEN1RLT1V1eW14VApDMHBmQWlBSnhyeHFxSEYrQ0kzUXUzeWVKUXVzQStHc1ZXVTJqK2pQL21YTkgybUFoQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
