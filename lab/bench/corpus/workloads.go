package corpus

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// nodes is the number of machines that run the Pods.
const nodes = 1000

// template returns the Pod spec of an owner, which all its Pods share.
func (g *maker) template() corev1.PodSpec {
	r, app := g.shared, g.app()
	grace, expiry := int64(30), int64(3607)
	container := func(name string, port int32) corev1.Container {
		return corev1.Container{
			Name: name, Image: fmt.Sprintf("registry.example.org/shop/%s-%s:v1.%d.%d", app, name, r.IntN(30), r.IntN(9)),
			Args:  []string{"--listen=0.0.0.0:" + fmt.Sprint(port), "--log-level=info", "--config=/etc/" + app + "/config.yaml"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			Env: []corev1.EnvVar{
				{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
				{Name: "FEATURES", Value: word(r, 24)},
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/" + app, ReadOnly: true}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
			LivenessProbe: &corev1.Probe{
				ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
				TimeoutSeconds:   1,
				PeriodSeconds:    10,
				SuccessThreshold: 1, FailureThreshold: 3,
			},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
		}
	}
	yes := true
	return corev1.PodSpec{
		Containers:    []corev1.Container{container("server", 8080), container("proxy", 15001)},
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: app, DeprecatedServiceAccount: app, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes},
		SchedulerName: "default-scheduler", EnableServiceLinks: &yes,
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))},
		},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}, DefaultMode: ptr(int32(420))}}},
			{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: ptr(int32(420)), Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expiry, Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			}}}},
		},
	}
}

func pod(g *maker) Object {
	hash, owner := g.replicaSet()
	p := &corev1.Pod{ObjectMeta: g.meta(g.app()+"-"+hash, owner), Spec: g.template()}
	p.GenerateName = g.app() + "-" + hash + "-"
	p.Labels["pod-template-hash"] = hash
	p.Annotations = map[string]string{"example.org/config-sum": hex(g.shared, 32), "example.org/owner-note": word(g.shared, 400), "example.org/checked": start.Add(time.Duration(g.n) * time.Minute).Format(time.RFC3339)}
	machine := g.r.IntN(nodes)
	p.Spec.NodeName = fmt.Sprintf("node-%04d", machine)
	ip := fmt.Sprintf("10.%d.%d.%d", 64+machine/250, machine%250, 2+g.r.IntN(250))
	ready := corev1.ConditionTrue
	if g.n%2 == 1 {
		ready = corev1.ConditionFalse
	}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: fmt.Sprintf("10.0.%d.%d", machine/250, machine%250), PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		QOSClass: corev1.PodQOSBurstable, StartTime: ptr(g.at(time.Second)),
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: g.at(time.Second)},
			{Type: corev1.PodReady, Status: ready, LastTransitionTime: g.at(time.Duration(9+g.n) * time.Second)},
			{Type: corev1.ContainersReady, Status: ready, LastTransitionTime: g.at(time.Duration(9+g.n) * time.Second)},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: g.at(0)},
		},
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "registry.example.org/shop/" + c.Name + "@sha256:" + hex(g.shared, 64), ContainerID: "containerd://" + hex(g.r, 64),
			Ready: g.n%2 == 0, Started: ptr(true), RestartCount: int32(g.n / 2),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: g.at(time.Duration(5+g.n) * time.Second)}},
		})
	}
	return p
}

func deployment(g *maker) Object {
	d := &appsv1.Deployment{ObjectMeta: g.meta(g.app(), nil)}
	labels := map[string]string{"app.kubernetes.io/name": d.Name}
	d.Spec = appsv1.DeploymentSpec{
		Replicas: ptr(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: g.template()},
		RevisionHistoryLimit: ptr(int32(10)), ProgressDeadlineSeconds: ptr(int32(600)),
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3 - int32(g.n%2), Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.", LastUpdateTime: g.at(time.Minute), LastTransitionTime: g.at(time.Minute)},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: fmt.Sprintf("ReplicaSet %q has successfully progressed.", d.Name+"-"+hex(g.r, 10)), LastUpdateTime: g.at(time.Minute), LastTransitionTime: g.at(0)},
	}}
	return d
}

func node(g *maker) Object {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%06d", g.i), UID: types.UID(uid(g.r)), CreationTimestamp: g.at(0),
		Labels: map[string]string{
			"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": fmt.Sprintf("node-%06d", g.i), "node.kubernetes.io/instance-type": "m5.4xlarge",
			"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1" + string("abc"[g.i%3]),
		},
		Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
	n.Spec = corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 64+g.i/250, g.i%250), ProviderID: "aws:///eu-central-1a/i-" + hex(g.r, 17)}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dKi", 64_000_000+g.r.IntN(1000))), corev1.ResourcePods: resource.MustParse("250")}
	n.Status.Allocatable = n.Status.Capacity
	n.Status.NodeInfo = corev1.NodeSystemInfo{MachineID: hex(g.r, 32), SystemUUID: uid(g.r), BootID: uid(g.r), KernelVersion: "6.8.0-1021-aws", OSImage: "Ubuntu 24.04 LTS", ContainerRuntimeVersion: "containerd://2.0.2", KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64"}
	for _, t := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionFalse, Reason: "KubeletHas", Message: "kubelet has sufficient of it", LastHeartbeatTime: g.at(time.Duration(g.n) * 5 * time.Minute), LastTransitionTime: g.at(0)})
	}
	for range 40 { // images that most nodes have, in a random order
		k := g.r.IntN(60)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.org/shop/image-%02d:v1", k), fmt.Sprintf("registry.example.org/shop/image-%02d@sha256:%064x", k, k*7919)}, SizeBytes: int64(10_000_000 + k*1_000_003)})
	}
	return n
}

func ptr[T any](v T) *T { return &v }
