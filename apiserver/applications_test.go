package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	statefulSets = "/apis/apps/v1/namespaces/NS/statefulsets"
	daemonSets   = "/apis/apps/v1/namespaces/NS/daemonsets"
	revisions    = "/apis/apps/v1/namespaces/NS/controllerrevisions"
	jobs         = "/apis/batch/v1/namespaces/NS/jobs"
	cronJobs     = "/apis/batch/v1/namespaces/NS/cronjobs"
	slicesPath   = "/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices"
	budgets      = "/apis/policy/v1/namespaces/NS/poddisruptionbudgets"
	quotas       = "/api/v1/namespaces/NS/resourcequotas"
	volumesPath  = "/api/v1/persistentvolumes?labelSelector=case=NS"
	autoscalers  = "/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers"
)

const jobPod = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`

// applicationCases are about the controllers of applications, without those of Deployments.
var applicationCases = []controlledCase{
	{"statefulset", func(s *session) {
		for name, size := range map[string]string{"a": "2Gi", "b": "3Gi"} { // the first claim gets the smaller one
			s.send("POST", "/api/v1/persistentvolumes", s.path(`{"metadata":{"name":"NS-`+name+`","labels":{"case":"NS"}},"spec":{"storageClassName":"NS","capacity":{"storage":"`+size+`"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`))
		}
		s.awaitCount(volumesPath, `"phase":"Available"`, 2)
		s.send("POST", s.path(statefulSets), s.path(`{"metadata":{"name":"db","annotations":{"x":"y"}},"spec":{"serviceName":"db","replicas":2,"selector":{"matchLabels":{"app":"web"}},`+podTemplate+`,
			"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"storageClassName":"NS","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}`))
		s.awaitAll(statefulSets, `"availableReplicas":2`, `"currentReplicas":2`)
	}, []string{statefulSets, "~/pods", "~/persistentvolumeclaims", revisions, volumesPath}},
	{"statefulset rollout", func(s *session) {
		s.send("POST", s.path(statefulSets), `{"metadata":{"name":"db"},"spec":{"podManagementPolicy":"Parallel","replicas":3,"revisionHistoryLimit":1,"selector":{"matchLabels":{"app":"web"}},`+podTemplate+`}}`)
		s.await(statefulSets, `"availableReplicas":3`)
		for i, image := range []string{"two", "three", "i", "three"} {
			s.send("PATCH", s.path(statefulSets+"/db"), `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"`+image+`"}]}}}}`, "Content-Type", strategic)
			s.awaitCount("~/pods", `"image":"`+image+`","resources"`, 3)
			s.awaitAll(statefulSets, fmt.Sprintf(`"observedGeneration":%d,`, i+2), `"updatedReplicas":3`, `"currentReplicas":3`, `"availableReplicas":3`)
			s.awaitCount(revisions, `"ownerReferences"`, 2) // the history is as short as it shall be
		}
		s.send("PATCH", s.path(statefulSets+"/db"), `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}},"template":{"spec":{"containers":[{"name":"c","image":"four"}]}}}}`, "Content-Type", strategic)
		s.awaitCount("~/pods", `"image":"four","resources"`, 1)
		s.awaitAll(statefulSets, `"observedGeneration":6,`, `"availableReplicas":3`, `"updatedReplicas":1`)
		s.send("PATCH", s.path(statefulSets+"/db"), `{"spec":{"replicas":1}}`, "Content-Type", mergePatch)
		s.awaitCount("~/pods", `"ownerReferences"`, 1)
		s.await(statefulSets, `"availableReplicas":1`)
	}, []string{statefulSets, "~/pods", revisions}},
	{"statefulset retention", func(s *session) {
		s.send("POST", s.path(statefulSets), s.path(`{"metadata":{"name":"db"},"spec":{"replicas":2,"ordinals":{"start":5},"podManagementPolicy":"Parallel","selector":{"matchLabels":{"app":"web"}},`+podTemplate+`,
			"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Delete"},
			"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"storageClassName":"NS","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}`))
		s.awaitCount("~/persistentvolumeclaims", `"kind":"StatefulSet"`, 2)
		s.send("PATCH", s.path(statefulSets+"/db"), `{"spec":{"replicas":1}}`, "Content-Type", mergePatch)
		s.awaitCount("~/persistentvolumeclaims", `"ownerReferences"`, 1)
		s.awaitCount("~/pods", `"ownerReferences"`, 1)
		s.await(statefulSets, `"replicas":1,"`)
	}, []string{"~/persistentvolumeclaims", revisions}},
	{"daemonset", func(s *session) {
		s.send("POST", s.path(daemonSets), `{"metadata":{"name":"agent","annotations":{"x":"y"}},"spec":{"selector":{"matchLabels":{"app":"web"}},`+podTemplate+`}}`)
		s.await(daemonSets, `"numberAvailable":1`)
		s.send("POST", s.path(daemonSets), `{"metadata":{"name":"none"},"spec":{"selector":{"matchLabels":{"app":"none"}},"template":{"metadata":{"labels":{"app":"none"}},"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"i"}]}}}}`)
		s.await(daemonSets+"/none", `"observedGeneration":1`)
		for i, image := range []string{"two", "i"} {
			s.send("PATCH", s.path(daemonSets+"/agent"), `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"`+image+`"}]}}}}`, "Content-Type", strategic)
			s.awaitCount("~/pods", `"image":"`+image+`","resources"`, 1)
			s.awaitAll(daemonSets+"/agent", fmt.Sprintf(`"observedGeneration":%d,`, i+2), `"updatedNumberScheduled":1`, `"numberAvailable":1`)
		}
	}, []string{daemonSets, "~/pods", revisions}},
	{"job", func(s *session) {
		s.send("POST", s.path(jobs), `{"metadata":{"name":"one"},"spec":{`+jobPod+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"many"},"spec":{"completions":5,"parallelism":2,`+jobPod+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"indexed"},"spec":{"completions":3,"parallelism":3,"completionMode":"Indexed","backoffLimitPerIndex":1,`+jobPod+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"none"},"spec":{"completions":0,`+jobPod+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"suspended"},"spec":{"suspend":true,`+jobPod+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"resumed"},"spec":{"suspend":true,`+jobPod+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"gone"},"spec":{"ttlSecondsAfterFinished":0,`+jobPod+`}}`)
		s.await(jobs+"/resumed", `"type":"Suspended"`)
		s.send("PATCH", s.path(jobs+"/resumed"), `{"spec":{"suspend":false}}`, "Content-Type", mergePatch)
		s.awaitCount(jobs, `"name":"gone"`, 0)
		s.awaitCount("~/pods", `"job-name":"gone"`, 0)
		s.awaitCount(jobs, `"type":"Complete"`, 5) // those of the others
		s.await(jobs+"/suspended", `"type":"Suspended"`)
	}, []string{jobs, "~/pods"}},
	{"job failure", func(s *session) {
		stuck := `"template":{"spec":{"restartPolicy":"Never","nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"i"}]}}`
		s.send("POST", s.path(jobs), `{"metadata":{"name":"limit"},"spec":{"backoffLimit":0,"parallelism":2,"completions":2,`+stuck+`}}`)
		s.send("POST", s.path(jobs), `{"metadata":{"name":"policy"},"spec":{"podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]},`+stuck+`}}`)
		s.awaitCount("~/pods", `"Unschedulable"`, 3)
		for _, job := range []string{"limit", "policy"} {
			pod := s.first("~/pods?labelSelector=job-name=" + job)
			s.send("PATCH", s.path("~/pods/"+pod+"/status"), `{"status":{"phase":"Failed","containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":42,"finishedAt":"2026-01-01T00:00:00Z"}}}]}}`, "Content-Type", strategic)
		}
		s.send("POST", s.path(jobs), `{"metadata":{"name":"late"},"spec":{"activeDeadlineSeconds":1,`+stuck+`}}`)
		s.awaitCount(jobs, `"type":"Failed"`, 3)
	}, []string{jobs}},
	{"cronjob", func(s *session) {
		s.send("POST", s.path(cronJobs), `{"metadata":{"name":"often"},"spec":{"schedule":"@every 2s","successfulJobsHistoryLimit":1,"concurrencyPolicy":"Forbid","timeZone":"Asia/Tokyo","jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{`+jobPod+`}}}}`)
		s.send("POST", s.path(cronJobs), `{"metadata":{"name":"never"},"spec":{"schedule":"0 0 31 2 *","jobTemplate":{"spec":{`+jobPod+`}}}}`)
		s.await(cronJobs+"/often", `"lastSuccessfulTime"`)
		s.send("PATCH", s.path(cronJobs+"/often"), `{"spec":{"suspend":true}}`, "Content-Type", mergePatch)
		s.awaitCount(jobs, `"type":"Complete"`, 1)
		s.await(cronJobs+"/often", `"status":{"lastScheduleTime"`) // none is active
	}, []string{cronJobs, jobs}},
	{"service", func(s *session) {
		for _, near := range []string{"Close", "SameZone", "SameNode"} {
			s.send("POST", s.path("~/services"), `{"metadata":{"name":"`+strings.ToLower(near)+`"},"spec":{"trafficDistribution":"Prefer`+near+`","selector":{"app":"web"},"ports":[{"port":80}]}}`)
		}
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"web","labels":{"l":"m"}},"spec":{"selector":{"app":"web"},"ports":[{"name":"http","port":80,"targetPort":8080},{"name":"metrics","port":81,"targetPort":"m"},{"name":"dns","port":53,"protocol":"UDP","appProtocol":"x"}]}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"headless"},"spec":{"clusterIP":"None","selector":{"app":"web"}}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"empty"},"spec":{"selector":{"app":"none"},"ports":[{"port":80}]}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"early"},"spec":{"publishNotReadyAddresses":true,"selector":{"app":"web"},"ports":[{"port":80}]}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"outside"},"spec":{"type":"ExternalName","externalName":"example.com"}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"manual"},"spec":{"ports":[{"port":80}]}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"gone"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}`)
		s.send("POST", s.path("~/endpoints"), `{"metadata":{"name":"manual","labels":{"l":"m"},"annotations":{"x":"y"}},"subsets":[{"addresses":[{"ip":"10.1.1.1"},{"ip":"fd00::1","hostname":"h"}],"notReadyAddresses":[{"ip":"10.1.1.2"}],"ports":[{"port":80}]}]}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"one","labels":{"app":"web"}},"spec":{"hostname":"one","subdomain":"headless","containers":[{"name":"c","image":"i","ports":[{"name":"m","containerPort":9090}]}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"two","labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"example.com/x"}],"containers":[{"name":"c","image":"i"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"three","labels":{"app":"web"}},"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"i"}]}}`)
		s.awaitCount("~/pods", `"phase":"Running"`, 2)
		s.awaitCount(slicesPath+"?labelSelector=kubernetes.io/service-name=early", `"ready":true`, 2)
		s.awaitCount("~/endpoints/early", `"ip"`, 2)
		s.await(slicesPath+"?labelSelector=kubernetes.io/service-name=gone", `"name":"gone-`)
		s.send("DELETE", s.path("~/services/gone"), "")
		s.awaitCount("~/endpoints", `"name":"gone"`, 0)
		s.awaitCount(slicesPath, `"name":"gone-`, 0)
		s.awaitCount(slicesPath, `"name":"manual-`, 2)
	}, []string{"~/endpoints", slicesPath}},
	{"autoscaler", func(s *session) {
		s.send("POST", s.path(deployments), webDeployment("web", `"replicas":1,`+podTemplate))
		s.await(deployments, `"availableReplicas":1`)
		s.send("POST", s.path(autoscalers), `{"metadata":{"name":"a"},"spec":{"minReplicas":1,"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}`)
		s.send("POST", s.path(autoscalers), `{"metadata":{"name":"b"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"none"}}}`)
		s.awaitCount(autoscalers, `"lastTransitionTime"`, 3)
	}, []string{autoscalers}},
	{"budget", func(s *session) {
		s.send("POST", s.path(deployments), webDeployment("web", `"replicas":3,`+podTemplate))
		s.await(deployments, `"availableReplicas":3`)
		selector := `"selector":{"matchLabels":{"app":"web"}}`
		s.send("POST", s.path(budgets), `{"metadata":{"name":"least"},"spec":{"minAvailable":2,`+selector+`}}`)
		s.await(budgets+"/least", `"disruptionsAllowed":1`)
		pod := s.first("~/pods")
		s.send("POST", s.path("~/pods/"+pod+"/eviction"), `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+pod+`"}}`)
		s.awaitCount("~/pods", `"name":"`+pod+`"`, 0)
		s.await(budgets+"/least", `"disruptionsAllowed":1`) // the controller has seen the new Pod: it tells changes of a Pod to one of its budgets only
		s.send("POST", s.path(budgets), `{"metadata":{"name":"most"},"spec":{"maxUnavailable":"50%",`+selector+`}}`)
		s.send("POST", s.path(budgets), `{"metadata":{"name":"half"},"spec":{"minAvailable":"50%",`+selector+`}}`)
		s.send("POST", s.path(budgets), `{"metadata":{"name":"none"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"none"}}}}`)
		s.await(deployments, `"availableReplicas":3`)
		s.awaitCount(budgets, `"currentHealthy":3`, 3)
		s.await(budgets+"/none", `"conditions"`)
		s.await(budgets+"/least", `"disruptionsAllowed":1`)
	}, []string{budgets}},
	{"quota", func(s *session) {
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"one"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"cpu":"1"}}}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"two"},"spec":{"priorityClassName":"system-node-critical","activeDeadlineSeconds":1000,"initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"2"}}}],"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1500m"}}}]}}`)
		s.send("POST", s.path("~/services"), `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`)
		s.send("POST", s.path("~/persistentvolumeclaims"), `{"metadata":{"name":"c"},"spec":{"storageClassName":"x","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
		s.awaitCount("~/pods", `"phase":"Running"`, 2)
		s.awaitCount("~/persistentvolumeclaims", `"phase":"Pending"`, 1)
		s.send("POST", s.path(quotas), `{"metadata":{"name":"all"},"spec":{"hard":{"pods":"10","count/pods":"10","cpu":"20","requests.memory":"20Gi","limits.cpu":"5","services":"5","services.nodeports":"2","services.loadbalancers":"2","configmaps":"5","secrets":"5","count/deployments.apps":"3","persistentvolumeclaims":"5","requests.storage":"10Gi","x.storageclass.storage.k8s.io/requests.storage":"10Gi"}}}`)
		s.send("POST", s.path(quotas), `{"metadata":{"name":"some"},"spec":{"hard":{"pods":"10"},"scopes":["NotTerminating"]}}`)
		s.awaitCount(quotas, `"used"`, 2)
		s.send("POST", s.path("~/configmaps"), `{"metadata":{"name":"more"}}`)
		s.await(quotas+"/all", `"used":{"configmaps":"2"`)
	}, []string{quotas}},
	{"volumes", func(s *session) {
		volume := func(name, spec string) {
			s.send("POST", "/api/v1/persistentvolumes", s.path(`{"metadata":{"name":"NS-`+name+`","labels":{"case":"NS"}},"spec":{`+spec+`"capacity":{"storage":"2Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`))
		}
		claim := func(name, spec string) {
			s.send("POST", s.path("~/persistentvolumeclaims"), s.path(`{"metadata":{"name":"`+name+`"},"spec":{"accessModes":["ReadWriteOnce"],`+spec+`"resources":{"requests":{"storage":"1Gi"}}}}`))
		}
		volume("a", `"storageClassName":"NS",`)
		volume("b", `"storageClassName":"NS","claimRef":{"namespace":"NS","name":"reserved"},`)
		volume("c", "")
		s.awaitCount(volumesPath, `"phase":"Available"`, 3)
		claim("reserved", `"storageClassName":"NS",`)
		claim("asked", `"storageClassName":"NS","volumeName":"NS-a",`)
		claim("none", `"storageClassName":"",`) // it gets the volume that has none
		s.awaitCount("~/persistentvolumeclaims", `"phase":"Bound"`, 3)
		claim("open", `"storageClassName":"NS",`)
		s.awaitCount("~/persistentvolumeclaims", `"phase":"Pending"`, 1)
		s.send("DELETE", s.path("~/persistentvolumeclaims/asked"), "")
		s.awaitCount("~/persistentvolumeclaims", `"name":"asked"`, 0)
		s.await(s.path("/api/v1/persistentvolumes/NS-a"), `"phase":"Released"`)
	}, []string{"~/persistentvolumeclaims", volumesPath}},
}

// first returns the name of the first object of a list.
func (s *session) first(path string) string {
	s.t.Helper()
	a := s.get(path)
	if len(a.Items) == 0 {
		s.t.Fatalf("%s has nothing", s.path(path))
	}
	var o answer
	if err := json.Unmarshal(a.Items[0], &o); err != nil {
		s.t.Fatal(err)
	}
	return o.Metadata.Name
}
