package decode

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func ptr[T any](v T) *T { return &v }

// usualPod is one of two containers, as a ReplicaSet makes them: 3.3 kB, and about as much again
// of managed fields.
func usualPod(managed bool) *corev1.Pod {
	at := metav1.NewTime(time.Unix(1_780_000_000, 0))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "app-0042-7d4f9c6b58-x7k2p", GenerateName: "app-0042-7d4f9c6b58-", Namespace: "team-12", UID: "3f0c2a57-8a0e-4c8e-9a5d-51f3a0f1c2d3", ResourceVersion: "81734512", CreationTimestamp: at,
		Labels:          map[string]string{"app.kubernetes.io/name": "app-0042", "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "deployer", "pod-template-hash": "7d4f9c6b58"},
		Annotations:     map[string]string{"example.org/config-sum": strings.Repeat("0f", 16), "example.org/owner-note": strings.Repeat("note ", 80), "example.org/checked": "2026-01-02T03:04:05Z"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-0042-7d4f9c6b58", UID: "b1f8d4f0-0d5e-4b19-8d4d-0c5f1a2b3c4d", Controller: ptr(true), BlockOwnerDeletion: ptr(true)}},
	}}
	container := func(name string, port int32) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.org/shop/app-0042-" + name + ":v1.12.3",
			Args:  []string{fmt.Sprintf("--listen=0.0.0.0:%d", port), "--log-level=info", "--config=/etc/app-0042/config.yaml"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			Env: []corev1.EnvVar{
				{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
				{Name: "FEATURES", Value: "one,two,three,four,five"},
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
			},
			VolumeMounts:           []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app-0042", ReadOnly: true}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
			LivenessProbe:          &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}}, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
		}
	}
	p.Spec = corev1.PodSpec{
		Containers: []corev1.Container{container("server", 8080), container("proxy", 15001)}, NodeName: "node-0117",
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: ptr(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: "app-0042", DeprecatedServiceAccount: "app-0042", SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr(true)},
		SchedulerName: "default-scheduler", EnableServiceLinks: ptr(true),
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app-0042-config"}, DefaultMode: ptr(int32(420))}}},
			{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: ptr(int32(420)), Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr(int64(3607)), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			}}}},
		},
	}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))})
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.0.0.117", PodIP: "10.64.117.9", PodIPs: []corev1.PodIP{{IP: "10.64.117.9"}}, QOSClass: corev1.PodQOSBurstable, StartTime: &at}
	for _, c := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "registry.example.org/shop/" + c.Name + "@sha256:" + strings.Repeat("a1b2", 16), ContainerID: "containerd://" + strings.Repeat("c3d4", 16),
			Ready: true, Started: ptr(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	if managed {
		for manager, n := range map[string]int{"kube-controller-manager": 90, "kubelet": 50} {
			raw := strings.Repeat(`"f:oneOfTheFields":{},`, n)
			p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{" + strings.TrimSuffix(raw, ",") + "}")})
		}
	}
	return p
}

// sink keeps a copy from being made on the stack.
var sink *corev1.Pod

func BenchmarkPod(b *testing.B) {
	for _, managed := range []bool{true, false} {
		p := usualPod(managed)
		doc, err := p.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		size := fmt.Sprintf("%dB", len(doc))
		b.Run(size+"/fast", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = new(corev1.Pod)
				if err := Protobuf(doc, sink); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size+"/stock", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = new(corev1.Pod)
				if err := sink.Unmarshal(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size+"/copy", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = p.DeepCopy()
			}
		})
	}
}
