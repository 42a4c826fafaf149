package apiserver_test

const randomTemplate = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

var randomKinds = []randomKind{
	builtIn("~/configmaps", "v1 ConfigMap", `"data":{"a":"b"}`,
		[]string{`{"data":{"a":"c"}}`, `{"data":{"a":null,"x":"y"}}`, `{"immutable":true}`, `{"binaryData":{"z":"AAEC"}}`, `{"binaryData":{"a":"AAEC"}}`}, nil),
	builtIn("~/secrets", "v1 Secret", `"stringData":{"a":"b"}`,
		[]string{`{"stringData":{"a":"c"}}`, `{"data":{"b":"AAEC"}}`, `{"data":{"b":"?"}}`, `{"type":"kubernetes.io/tls"}`, `{"immutable":true}`}, nil),
	builtIn("~/services", "v1 Service", `"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}`,
		[]string{`{"spec":{"type":"NodePort"}}`, `{"spec":{"type":"ExternalName","externalName":"x.example"}}`, `{"spec":{"type":"ClusterIP"}}`, `{"spec":{"ports":[{"port":81,"name":"x"}]}}`, `{"spec":{"clusterIP":"None"}}`, `{"spec":{"sessionAffinity":"ClientIP"}}`}, []string{"status"}),
	builtIn("~/pods", "v1 Pod", podBody,
		[]string{`{"spec":{"containers":[{"name":"c","image":"j"}]}}`, `{"spec":{"activeDeadlineSeconds":5}}`, `{"spec":{"nodeName":"n"}}`, `{"spec":{"priority":3}}`, `{"status":{"phase":"Running"}}`, `{"status":{"phase":"Failed","reason":"R"}}`, `{"spec":{"tolerations":[{"key":"x","operator":"Exists"}]}}`}, []string{"status", "resize"}),
	builtIn("~/persistentvolumeclaims", "v1 PersistentVolumeClaim", `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`,
		[]string{`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, `{"spec":{"volumeName":"v"}}`, `{"status":{"phase":"Bound"}}`}, []string{"status"}),
	builtIn("~/serviceaccounts", "v1 ServiceAccount", `"automountServiceAccountToken":false`, []string{`{"automountServiceAccountToken":true}`, `{"secrets":[{"name":"s"}]}`}, nil),
	builtIn("/apis/apps/v1/namespaces/NS/deployments", "apps/v1 Deployment", `"spec":{`+randomTemplate+`}`,
		[]string{`{"spec":{"replicas":3}}`, `{"spec":{"replicas":-1}}`, `{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"paused":true}}`, `{"status":{"replicas":2,"observedGeneration":1}}`}, []string{"status", "scale"}),
	builtIn("/apis/apps/v1/namespaces/NS/statefulsets", "apps/v1 StatefulSet", `"spec":{"serviceName":"s",`+randomTemplate+`}`,
		[]string{`{"spec":{"replicas":3}}`, `{"spec":{"serviceName":"t"}}`, `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`, `{"status":{"replicas":2}}`}, []string{"status", "scale"}),
	builtIn("/apis/batch/v1/namespaces/NS/jobs", "batch/v1 Job", `"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`,
		[]string{`{"spec":{"parallelism":2}}`, `{"spec":{"completions":2}}`, `{"spec":{"suspend":true}}`, `{"status":{"active":1}}`}, []string{"status"}),
	builtIn("/apis/coordination.k8s.io/v1/namespaces/NS/leases", "coordination.k8s.io/v1 Lease", `"spec":{"holderIdentity":"h"}`,
		[]string{`{"spec":{"holderIdentity":"i","leaseDurationSeconds":5}}`, `{"spec":{"leaseDurationSeconds":0}}`, `{"spec":{"leaseTransitions":-1}}`}, nil),
	builtIn("/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies", "networking.k8s.io/v1 NetworkPolicy", `"spec":{"podSelector":{}}`,
		[]string{`{"spec":{"policyTypes":["Egress"]}}`, `{"spec":{"ingress":[{"ports":[{"port":1,"endPort":0}]}]}}`}, nil),
	builtIn("/apis/policy/v1/namespaces/NS/poddisruptionbudgets", "policy/v1 PodDisruptionBudget", `"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`,
		[]string{`{"spec":{"minAvailable":"50%"}}`, `{"spec":{"maxUnavailable":1}}`, `{"status":{"observedGeneration":1}}`}, []string{"status"}),
	builtIn("/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers", "autoscaling/v2 HorizontalPodAutoscaler", `"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}`,
		[]string{`{"spec":{"minReplicas":2}}`, `{"spec":{"minReplicas":7}}`, `{"spec":{"behavior":{"scaleDown":{"stabilizationWindowSeconds":5}}}}`, `{"status":{"currentReplicas":1}}`}, []string{"status"}),
	builtIn("/apis/random.example.com/v1/namespaces/NS/widgets", "random.example.com/v1 Widget", `"spec":{"size":1}`,
		[]string{`{"spec":{"size":2}}`, `{"spec":{"size":11}}`, `{"spec":{"size":"x"}}`, `{"spec":{"color":"red","size":12}}`, `{"spec":{"once":"a"}}`, `{"spec":{"once":"b"}}`, `{"spec":{"unknown":1,"free":{"x":null}}}`, `{"spec":{"parts":[{"name":"a"},{"name":"b","n":1}]}}`, `{"spec":{"parts":[{"name":"a"},{"name":"a"}]}}`, `{"status":{"phase":"x"}}`, `{"status":{"replicas":1}}`}, []string{"status", "scale"}),
	builtIn("/apis/apps/v1/namespaces/NS/daemonsets", "apps/v1 DaemonSet", `"spec":{`+randomTemplate+`}`,
		[]string{`{"spec":{"minReadySeconds":3}}`, `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`, `{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`, `{"status":{"observedGeneration":1}}`}, []string{"status"}),
	builtIn("/apis/apps/v1/namespaces/NS/replicasets", "apps/v1 ReplicaSet", `"spec":{`+randomTemplate+`}`,
		[]string{`{"spec":{"replicas":3}}`, `{"spec":{"replicas":-1}}`, `{"status":{"replicas":2}}`}, []string{"status", "scale"}),
	builtIn("/apis/batch/v1/namespaces/NS/cronjobs", "batch/v1 CronJob", `"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}`,
		[]string{`{"spec":{"schedule":"@daily"}}`, `{"spec":{"schedule":"x"}}`, `{"spec":{"timeZone":"Etc/UTC"}}`, `{"spec":{"concurrencyPolicy":"Forbid"}}`, `{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}`}, []string{"status"}),
	builtIn("/apis/networking.k8s.io/v1/namespaces/NS/ingresses", "networking.k8s.io/v1 Ingress", `"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}`,
		[]string{`{"spec":{"ingressClassName":"c"}}`, `{"spec":{"rules":[{"host":"x.example","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"name":"p"}}}}]}}]}}`, `{"spec":{"tls":[{"hosts":["x"]}]}}`, `{"status":{"loadBalancer":{"ingress":[{"ip":"10.1.2.3"}]}}}`}, []string{"status"}),
	builtIn("/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices", "discovery.k8s.io/v1 EndpointSlice", `"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"]}]`,
		[]string{`{"addressType":"IPv6"}`, `{"endpoints":[]}`, `{"ports":[{"port":80,"name":"x"}]}`, `{"endpoints":[{"addresses":["x"]}]}`}, nil),
	builtIn("~/events", "v1 Event", `"involvedObject":{"kind":"Pod","name":"p","namespace":"NS"},"reason":"R","message":"M","type":"Normal"`,
		[]string{`{"count":2}`, `{"message":"N"}`, `{"type":"Odd"}`, `{"reportingComponent":"c.example/x"}`}, nil),
	builtIn("/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles", "rbac.authorization.k8s.io/v1 Role", `"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`,
		[]string{`{"rules":null}`, `{"rules":[{"verbs":["*"]}]}`, `{"rules":[{"nonResourceURLs":["/x"],"verbs":["get"]}]}`}, nil),
	builtIn("/apis/resource.k8s.io/v1/namespaces/NS/resourceclaims", "resource.k8s.io/v1 ResourceClaim", `"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}`,
		[]string{`{"spec":{"devices":null}}`, `{"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"the-uid-of-a-pod"}]}}`}, []string{"status"}),
}

// builtIn returns a kind with any names.
func builtIn(path, kind, rest string, changes, subresources []string) randomKind {
	return randomKind{path: path, kind: kind, rest: rest, changes: changes, subresources: subresources}
}
