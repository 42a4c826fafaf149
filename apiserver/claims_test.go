package apiserver_test

import "fmt"

const (
	claimsPath  = "~/persistentvolumeclaims"
	classesPath = "/apis/storage.k8s.io/v1/storageclasses"
	volumesAll  = "/api/v1/persistentvolumes"
)

// claimFor creates a claim. The spec ends with a comma.
func (s *session) claimFor(name, spec string) {
	s.t.Helper()
	s.send("POST", s.path(claimsPath), s.path(fmt.Sprintf(`{"metadata":{"name":%q,"finalizers":["example.com/kept"]},"spec":{%s"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`, name, spec)))
}

// podWith creates a Pod with one volume.
func (s *session) podWith(name, volume string) {
	s.t.Helper()
	s.send("POST", s.path("~/pods"), s.path(fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v",%s}]}}`, name, volume)))
}

// claimed is the volume of a claim.
func claimed(name string) string {
	return fmt.Sprintf(`"persistentVolumeClaim":{"claimName":%q}`, name)
}

// ephemeral is a volume with a claim of its own.
func ephemeral(spec string) string {
	return `"ephemeral":{"volumeClaimTemplate":{"spec":{` + spec + `"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}`
}

// storageClass creates a class NS-name.
func (s *session) storageClass(name, provisioner, mode string) {
	s.t.Helper()
	s.send("POST", classesPath, s.path(fmt.Sprintf(`{"metadata":{"name":"NS-%s"},"provisioner":%q,"volumeBindingMode":%q}`, name, provisioner, mode)))
}

// storedVolume creates a volume NS-name of a class of the case.
func (s *session) storedVolume(name, class, more string) {
	s.t.Helper()
	s.send("POST", volumesAll, s.path(fmt.Sprintf(`{"metadata":{"name":"NS-%s","labels":{"case":"NS"}},"spec":{"storageClassName":"NS-%s","capacity":{"storage":"2Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}%s}}`, name, class, more)))
}

// onNode is the node affinity of a volume.
func onNode(name string) string {
	return fmt.Sprintf(`,"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[%q]}]}]}}`, name)
}

// claimCases are about Pods and their claims: a Pod has a Node when all of its claims have volumes, and not before.
var claimCases = []controlledCase{
	{"claims without volumes", func(s *session) {
		s.storageClass("now", "example.com/nobody", "Immediate")
		s.storageClass("later", "example.com/nobody", "WaitForFirstConsumer")
		s.storageClass("static", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
		s.storedVolume("elsewhere", "elsewhere", onNode("elsewhere"))
		s.storedVolume("far", "static", onNode("elsewhere"))
		s.await(volumesAll+"/NS-elsewhere", `"phase":"Available"`) // or its claim may be seen first, and be told that there is no class
		for name, spec := range map[string]string{
			"none":      `"storageClassName":"",`,
			"unknown":   `"storageClassName":"NS-unknown",`,
			"now":       `"storageClassName":"NS-now",`,
			"later":     `"storageClassName":"NS-later",`,
			"static":    `"storageClassName":"NS-static",`,
			"named":     `"storageClassName":"","volumeName":"NS-nothing",`,
			"elsewhere": `"storageClassName":"NS-elsewhere",`,
			"deleted":   `"storageClassName":"",`,
		} {
			s.claimFor(name, spec)
		}
		s.send("DELETE", s.path(claimsPath+"/deleted"), "")
		s.await(claimsPath+"/deleted", "deletionTimestamp")
		s.await(claimsPath+"/elsewhere", `"phase":"Bound"`)
		for _, name := range []string{"none", "unknown", "now", "static", "named", "elsewhere", "deleted", "missing"} {
			s.podWith(name, claimed(name))
			s.await("~/pods/"+name, `"Unschedulable"`)
		}
		s.podWith("own", ephemeral(`"storageClassName":"NS-now",`))
		s.await("~/pods/own", "unbound immediate")
		s.podWith("later", claimed("later"))
		s.await(claimsPath+"/later", "selected-node") // it is chosen, and waits for the volume
	}, []string{"~/pods", claimsPath, volumesPath}},
	{"claims with volumes", func(s *session) {
		s.storageClass("static", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
		s.storageClass("late", "example.com/nobody", "Immediate")
		s.storedVolume("near", "static", onNode("node-0"))
		s.storedVolume("plain", "plain", "")
		s.await(volumesAll+"/NS-plain", `"phase":"Available"`) // as above
		s.claimFor("static", `"storageClassName":"NS-static",`)
		s.claimFor("plain", `"storageClassName":"NS-plain",`)
		s.claimFor("late", `"storageClassName":"NS-late",`)
		s.claimFor("default", "")
		for _, name := range []string{"static", "plain", "late", "default"} {
			s.podWith(name, claimed(name))
		}
		s.podWith("own", ephemeral(""))
		s.await("~/pods/late", `"Unschedulable"`)
		s.storedVolume("late", "late", `,"claimRef":{"namespace":"NS","name":"late"}`)
		s.awaitCount("~/pods", `"phase":"Running"`, 5)
		s.awaitCount(claimsPath, `"phase":"Bound"`, 5)
	}, []string{"~/pods", claimsPath, volumesPath, classesPath + "/standard"}},
	{"volumes that are made", func(s *session) {
		s.send("POST", s.path(statefulSets), s.path(`{"metadata":{"name":"db"},"spec":{"replicas":2,"serviceName":"db","selector":{"matchLabels":{"app":"web"}},`+podTemplate+`,
			"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}`))
		s.await(statefulSets, `"availableReplicas":2`)
		s.awaitCount(claimsPath, `"phase":"Bound"`, 2)
		s.send("PATCH", s.path(statefulSets+"/db"), `{"spec":{"replicas":1}}`, "Content-Type", mergePatch)
		s.awaitCount("~/pods", `"phase":"Running"`, 1)
		s.send("DELETE", s.path(claimsPath+"/data-db-1"), "")
		s.awaitCount(volumesAll, s.path(`"namespace":"NS","name":"data-db-1"`), 0) // deleted with its claim
		s.await(statefulSets, `"availableReplicas":1`)
	}, []string{statefulSets, "~/pods", claimsPath, volumesAll}},
}
