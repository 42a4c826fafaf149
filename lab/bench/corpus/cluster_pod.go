package corpus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// template returns the template of an app's Pods in a revision, as it stands in its ReplicaSet. Apps
// differ in what they have: one to three containers, up to twenty variables, probes, volumes, and
// rules for the scheduler.
func (c *Cluster) template(a app, revision int32) corev1.PodTemplateSpec {
	r := c.appRand(a, "template")
	name := a.name()
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: a.labels(), Annotations: map[string]string{
		"checksum/config": hex(c.rand("config", uint64(a.number)<<20|uint64(revision)), 64),
	}}}
	if r.IntN(2) == 0 {
		maps.Copy(t.Annotations, map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "prometheus.io/path": "/metrics"})
	}
	s := &t.Spec
	*s = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: ptr(int64(30)), DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
		ServiceAccountName: name, DeprecatedServiceAccount: name, SecurityContext: &corev1.PodSecurityContext{},
	}
	if a.job {
		s.RestartPolicy = corev1.RestartPolicyNever
	}
	s.Containers = append(s.Containers, c.container(a, revision, r))
	if r.IntN(10) < 3 { // a proxy of a mesh, the same in all apps
		s.Containers = append(s.Containers, corev1.Container{
			Name: "proxy", Image: "docker.io/istio/proxyv2:1.24.2", Args: []string{"proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local", "--proxyLogLevel=warning", "--concurrency", "2"},
			Ports: []corev1.ContainerPort{{Name: "http-envoy-prom", ContainerPort: 15090, Protocol: corev1.ProtocolTCP}},
			Env: []corev1.EnvVar{
				fromField("POD_NAME", "metadata.name"), fromField("POD_NAMESPACE", "metadata.namespace"), fromField("INSTANCE_IP", "status.podIP"),
				{Name: "CA_ADDR", Value: "istiod.istio-system.svc:15012"}, {Name: "PILOT_CERT_PROVIDER", Value: "istiod"},
			},
			Resources: resources("100m", "128Mi", "2", "1Gi"), ReadinessProbe: probe("/healthz/ready", intstr.FromInt32(15021)),
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
		})
	}
	if r.IntN(10) == 0 {
		s.Containers = append(s.Containers, corev1.Container{
			Name: "exporter", Image: "quay.io/prometheus/statsd-exporter:v0.28.0", Resources: resources("10m", "32Mi", "100m", "64Mi"),
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
		})
	}
	if r.IntN(5) == 0 {
		s.InitContainers = []corev1.Container{{
			Name: "migrate", Image: s.Containers[0].Image, Command: []string{"/app/" + name, "migrate"}, Resources: resources("100m", "128Mi", "100m", "128Mi"),
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
		}}
	}
	s.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-config"}, DefaultMode: ptr(int32(420))}}},
	}
	if r.IntN(2) == 0 {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	if r.IntN(10) < 3 {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}}},
		}}}}
	}
	if r.IntN(5) == 0 {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}},
		}}
	}
	if r.IntN(10) < 3 {
		s.NodeSelector = map[string]string{"kubernetes.io/arch": "amd64"}
	}
	if r.IntN(10) < 3 {
		s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	}
	return t
}

// container returns the main container of an app.
func (c *Cluster) container(a app, revision int32, r *rand.Rand) corev1.Container {
	name := a.name()
	main := corev1.Container{
		Name: partWords[a.number/len(appWords)%len(partWords)], Image: c.image(a, revision),
		Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
		Env:          []corev1.EnvVar{fromField("POD_NAME", "metadata.name"), fromField("POD_NAMESPACE", "metadata.namespace")},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/" + name, ReadOnly: true}},
		Resources:    resources(fmt.Sprintf("%dm", 50*(1+r.IntN(20))), fmt.Sprintf("%dMi", 64*(1+r.IntN(32))), "", fmt.Sprintf("%dMi", 128*(8+r.IntN(32)))), TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
	}
	if r.IntN(2) == 0 {
		main.Args = []string{"--config=/etc/" + name + "/config.yaml", "--log-format=json", fmt.Sprintf("--workers=%d", 1+r.IntN(16))}
	}
	for i := range r.IntN(20) {
		v := corev1.EnvVar{Name: fmt.Sprintf("%s_%s_%d", envWords[r.IntN(len(envWords))], envWords[r.IntN(len(envWords))], i)}
		switch r.IntN(4) {
		case 0:
			v.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "password"}}
		case 1:
			v.Value = fmt.Sprintf("http://%s.%s.svc.cluster.local:8080", c.apps[r.IntN(len(c.apps))].name(), namespaceName(r.IntN(c.namespaces)))
		case 2:
			v.Value = fmt.Sprint(r.IntN(10_000))
		default:
			v.Value = word(r, 4+r.IntN(12))
		}
		main.Env = append(main.Env, v)
	}
	if !a.job && r.IntN(5) > 0 {
		main.LivenessProbe, main.ReadinessProbe = probe("/healthz", intstr.FromString("http")), probe("/readyz", intstr.FromString("http"))
	}
	if r.IntN(2) == 0 {
		main.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr(true), AllowPrivilegeEscalation: ptr(false), ReadOnlyRootFilesystem: ptr(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	}
	return main
}

var envWords = []string{"DB", "CACHE", "HTTP", "QUEUE", "LOG", "TRACE", "AUTH", "TIMEOUT", "HOST", "PORT", "LEVEL", "LIMIT", "TOPIC", "REGION"}

// image returns the image of an app in a revision.
func (c *Cluster) image(a app, revision int32) string {
	return fmt.Sprintf("registry.example.org/%s/%s:1.%d.%d", appWords[a.number%len(appWords)], a.name(), revision, c.rand("image", uint64(a.number)<<20|uint64(revision)).IntN(10))
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func probe(path string, port intstr.IntOrString) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port, Scheme: corev1.URISchemeHTTP}}, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
}

// resources returns requests and limits. An empty limit is none.
func resources(cpu, memory, cpuLimit, memoryLimit string) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)},
	}
	if cpuLimit != "" {
		r.Limits[corev1.ResourceCPU] = resource.MustParse(cpuLimit)
	}
	return r
}

// podName returns the name of a Pod.
func (c *Cluster) podName(a app, revision int32, index int) string {
	if a.job {
		return fmt.Sprintf("%s-%s", a.name(), suffix(index, a.number))
	}
	return fmt.Sprintf("%s-%s-%s", a.name(), c.hash(a, revision), suffix(index, a.number))
}

// pod is of the ReplicaSet of its revision, or of a Job.
func (g *member) pod() Object {
	a := g.ownerOf()
	t := g.template(a, g.revision)
	p := &corev1.Pod{ObjectMeta: g.meta(a, g.podName(a, g.revision, int(g.index))), Spec: t.Spec}
	p.Annotations = t.Annotations
	if a.job {
		job := ref{kind: jobKind, owner: g.owner}
		p.GenerateName, p.OwnerReferences = a.name()+"-", controlledBy("batch/v1", "Job", a.name(), g.uid(job))
		maps.Copy(p.Labels, map[string]string{"batch.kubernetes.io/job-name": a.name(), "batch.kubernetes.io/controller-uid": string(g.uid(job))})
		p.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
	} else {
		hash := g.hash(a, g.revision)
		p.GenerateName = a.name() + "-" + hash + "-"
		p.OwnerReferences = controlledBy("apps/v1", "ReplicaSet", a.name()+"-"+hash, g.uid(ref{kind: replicaSetKind, owner: g.owner, revision: g.revision}))
		p.Labels["pod-template-hash"] = hash
	}
	g.admit(p)
	node := g.r.IntN(g.nodes)
	started := metav1.NewTime(p.CreationTimestamp.Add(time.Second))
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable}
	if g.step == podPending {
		return p
	}
	p.Spec.NodeName = nodeName(node)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: started}}
	if g.step >= podStarted {
		g.run(p, node)
	}
	if g.step == podDeleting || g.step == podStopped {
		deleted := g.time(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &deleted, ptr(int64(30))
	}
	return p
}

// admit adds what the API server and its plugins add to a Pod.
func (g *member) admit(p *corev1.Pod) {
	token := "kube-api-access-" + word(g.r, 5)
	for _, all := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range all {
			all[i].VolumeMounts = append(all[i].VolumeMounts, corev1.VolumeMount{Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true})
		}
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: ptr(int32(420)), Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr(int64(3607)), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
	}}}})
	p.Spec.Priority, p.Spec.PreemptionPolicy, p.Spec.EnableServiceLinks = ptr(int32(0)), ptr(corev1.PreemptLowerPriority), ptr(true)
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))})
	}
}

// run fills in the status of a Pod that the kubelet runs.
func (g *member) run(p *corev1.Pod, node int) {
	after := func(seconds int) metav1.Time {
		return metav1.NewTime(p.CreationTimestamp.Add(time.Duration(seconds) * time.Second))
	}
	s := &p.Status
	s.Phase, s.HostIP, s.HostIPs = corev1.PodRunning, nodeIP(node), []corev1.HostIP{{IP: nodeIP(node)}}
	s.PodIP = fmt.Sprintf("10.%d.%d.%d", 128+node/250%120, node%250, 2+g.r.IntN(250))
	s.PodIPs, s.StartTime = []corev1.PodIP{{IP: s.PodIP}}, ptr(after(1))
	ready, readyAt, started := corev1.ConditionTrue, after(9), g.step != podStarted
	switch g.step {
	case podStarted:
		ready, readyAt = corev1.ConditionFalse, after(4)
	case podStopped:
		ready, readyAt = corev1.ConditionFalse, g.time(0)
	case podDone:
		s.Phase, ready, readyAt = corev1.PodSucceeded, corev1.ConditionFalse, after(19)
	}
	s.Conditions = append([]corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: after(3)},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: after(1)},
		{Type: corev1.PodReady, Status: ready, LastTransitionTime: readyAt},
		{Type: corev1.ContainersReady, Status: ready, LastTransitionTime: readyAt},
	}, s.Conditions...)
	restarts := int32(0)
	if g.born == 0 && g.r.IntN(20) == 0 {
		restarts = int32(1 + g.r.IntN(5))
	}
	for i, all := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for _, c := range all {
			status := corev1.ContainerStatus{
				Name: c.Name, Image: c.Image, ImageID: digest(c.Image), ContainerID: "containerd://" + hex(g.r, 64), Ready: ready == corev1.ConditionTrue || i == 1, Started: &started, RestartCount: restarts,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(4)}},
			}
			if i == 1 || g.step == podStopped || g.step == podDone {
				status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: after(3), FinishedAt: after(19), ContainerID: status.ContainerID}}
			}
			if i == 1 {
				s.InitContainerStatuses = append(s.InitContainerStatuses, status)
			} else {
				s.ContainerStatuses = append(s.ContainerStatuses, status)
			}
		}
	}
}
