package decode

import (
	"bytes"
	gojson "encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/json"

	"github.com/flyball-io/flyball/internal/fieldsv1"
)

func ptr[T any](v T) *T { return &v }

// usualPod returns a Pod with two containers, as a ReplicaSet makes them: 3.3 kB, and about as much
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
			p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: fieldsv1.New("{" + strings.TrimSuffix(raw, ",") + "}")})
		}
	}
	return p
}

func usualDeployment() *appsv1.Deployment {
	p := usualPod(false)
	at := p.CreationTimestamp
	d := &appsv1.Deployment{ObjectMeta: p.ObjectMeta, Spec: appsv1.DeploymentSpec{
		Replicas: ptr(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "app-0042"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec},
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr(intstr.FromString("25%")), MaxUnavailable: ptr(intstr.FromInt32(1))}},
	}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}}
	for _, c := range []appsv1.DeploymentConditionType{appsv1.DeploymentAvailable, appsv1.DeploymentProgressing} {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: c, Status: corev1.ConditionTrue, LastUpdateTime: at, LastTransitionTime: at, Reason: "AsExpected", Message: "as it should be"})
	}
	return d
}

func usualNode() *corev1.Node {
	at := metav1.NewTime(time.Unix(1_780_000_000, 0))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0117", UID: "3f0c2a57-8a0e-4c8e-9a5d-51f3a0f1c2d3", ResourceVersion: "81734512", CreationTimestamp: at, Labels: map[string]string{}}}
	for i := range 12 {
		n.Labels[fmt.Sprintf("example.org/label-%02d", i)] = "value"
	}
	n.Spec.PodCIDR, n.Spec.PodCIDRs, n.Spec.ProviderID = "10.64.117.0/24", []string{"10.64.117.0/24"}, "example://zone-a/node-0117"
	room := corev1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("65843076Ki"), "pods": resource.MustParse("110"), "ephemeral-storage": resource.MustParse("101430960Ki"), "hugepages-2Mi": resource.MustParse("0")}
	n.Status.Capacity, n.Status.Allocatable = room, room
	for _, c := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: c, Status: corev1.ConditionTrue, LastHeartbeatTime: at, LastTransitionTime: at, Reason: "KubeletHasSufficient", Message: "kubelet has sufficient of it available"})
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.117"}, {Type: corev1.NodeHostName, Address: "node-0117"}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = 10250
	n.Status.NodeInfo = corev1.NodeSystemInfo{MachineID: strings.Repeat("ab", 16), SystemUUID: "3f0c2a57-8a0e-4c8e-9a5d-51f3a0f1c2d3", KernelVersion: "6.12.1", OSImage: "Linux", ContainerRuntimeVersion: "containerd://2.1.0", KubeletVersion: "v1.37.0", OperatingSystem: "linux", Architecture: "amd64"}
	for i := range 40 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.org/shop/image-%02d:v1", i), fmt.Sprintf("registry.example.org/shop/image-%02d@sha256:%064x", i, i*7919)}, SizeBytes: int64(10_000_000 + i*1_000_003)})
	}
	return n
}

func usualConfigMap() *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: usualPod(false).ObjectMeta, Data: map[string]string{"config.yaml": strings.Repeat("key_of_something: \"a value\" # and a note\n", 60), "revision": "7"}}
	return c
}

// widget is the Go type of a custom resource, with a generated-style deep copy.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              widgetSpec   `json:"spec,omitempty"`
	Status            widgetStatus `json:"status,omitempty"`
}

type widgetSpec struct {
	Owner string       `json:"owner"`
	Size  int32        `json:"size"`
	Ratio float64      `json:"ratio"`
	Steps []widgetStep `json:"steps,omitempty"`
	Notes string       `json:"notes,omitempty"`
}

type widgetStep struct {
	Name           string            `json:"name"`
	Image          string            `json:"image"`
	Command        []string          `json:"command,omitempty"`
	TimeoutSeconds int64             `json:"timeoutSeconds"`
	Retries        int32             `json:"retries"`
	Privileged     bool              `json:"privileged"`
	Environment    map[string]string `json:"environment,omitempty"`
}

type widgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Runs               int32              `json:"runs"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

func (w *widget) deepCopy() *widget {
	out := new(widget)
	*out = *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Steps = make([]widgetStep, len(w.Spec.Steps))
	for i, s := range w.Spec.Steps {
		s.Command = slices.Clone(s.Command)
		env := make(map[string]string, len(s.Environment))
		for k, v := range s.Environment {
			env[k] = v
		}
		s.Environment = env
		out.Spec.Steps[i] = s
	}
	out.Status.Conditions = make([]metav1.Condition, len(w.Status.Conditions))
	for i := range w.Status.Conditions {
		w.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
	}
	return out
}

// usualWidget returns an object of about 10 kB in JSON.
func usualWidget() *widget {
	w := &widget{TypeMeta: metav1.TypeMeta{APIVersion: "example.org/v1", Kind: "Widget"}, ObjectMeta: usualPod(false).ObjectMeta}
	w.Spec = widgetSpec{Owner: "app-0042", Size: 42, Ratio: 0.25, Notes: strings.Repeat("a note that is long enough to count ", 50)}
	for i := range 20 {
		w.Spec.Steps = append(w.Spec.Steps, widgetStep{
			Name: fmt.Sprintf("step-%d", i), Image: "registry.example.org/tools/runner:v2", Command: []string{"sh", "-c", "run --this --that " + strings.Repeat("x", 40)},
			TimeoutSeconds: int64(30 + 7*i), Retries: int32(i % 4), Environment: map[string]string{"STAGE": "production", "KEY": strings.Repeat("k", 20)},
		})
	}
	for _, c := range []string{"Ready", "Progressing", "Degraded", "Synced"} {
		w.Status.Conditions = append(w.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: w.CreationTimestamp, Reason: "AsExpected", Message: "as it should be since then"})
	}
	return w
}

// contest is one object: its bytes, how either decoder reads it, and how others copy it.
type contest struct {
	name        string
	doc         []byte
	make        func() any
	ours, stock func(b []byte, into any) error
	copy        func(any) any
}

// read decodes into a new value. The stock decoders copy what they keep, ours owns a copy.
func (c *contest) read(ours bool, doc []byte) (any, error) {
	v := c.make()
	if ours {
		return v, c.ours(bytes.Clone(doc), v)
	}
	return v, c.stock(doc, v)
}

func contests(b testing.TB) []*contest {
	var all []*contest
	stockJSON := json.UnmarshalCaseSensitivePreserveInts
	add := func(c contest, err error) {
		if err != nil {
			b.Fatal(err)
		}
		c.name = fmt.Sprintf("%s-%dB", c.name, len(c.doc))
		all = append(all, &c)
	}
	for _, o := range []struct {
		name string
		obj  interface {
			runtime.Object
			marshaler
		}
	}{{"pod", usualPod(false)}, {"pod-managed", usualPod(true)}, {"deployment", usualDeployment()}, {"node", usualNode()}, {"configmap", usualConfigMap()}} {
		c := contest{
			make: func() any { return reflect.New(reflect.TypeOf(o.obj).Elem()).Interface() },
			copy: func(v any) any { return v.(runtime.Object).DeepCopyObject() },
		}
		var err error
		c.name, c.ours, c.stock = "protobuf-"+o.name, ProtobufOwned, func(b []byte, v any) error { return v.(stockMessage).Unmarshal(b) }
		c.doc, err = o.obj.Marshal()
		add(c, err)
		c.name, c.ours, c.stock = "json-"+o.name, JSONOwned, stockJSON
		c.doc, err = gojson.Marshal(o.obj)
		add(c, err)
	}
	var content map[string]any
	doc, err := gojson.Marshal(usualWidget())
	if err == nil {
		err = stockJSON(doc, &content)
	}
	if err == nil {
		doc, err = gojson.Marshal(content) // names in order, as the server stores custom resources
	}
	add(contest{"json-widget", doc, func() any { return new(widget) }, JSONOwned, stockJSON, func(v any) any { return v.(*widget).deepCopy() }}, err)
	add(contest{"json-unstructured", doc, func() any { return new(map[string]any) }, JSONOwned, stockJSON, func(v any) any { return runtime.DeepCopyJSON(*v.(*map[string]any)) }}, err)
	return all
}

// sink forces results onto the heap.
var sink any

// Benchmark reads an object into memory of its own, beside the alternatives: a deep copy, or the
// stock decoder. First the same object is read repeatedly. Then a random one of many is read, as
// from a cache: both come from memory outside the processor caches, and the collector has all of it
// to scan.
func Benchmark(b *testing.B) {
	for _, c := range contests(b) {
		for _, many := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("%s/of-%d/copy", c.name, many), func(b *testing.B) {
				objects := make([]any, many)
				for i := range objects {
					var err error
					if objects[i], err = c.read(false, c.doc); err != nil {
						b.Fatal(err)
					}
				}
				r := rand.New(rand.NewPCG(1, 2))
				goruntime.GC()
				b.ReportAllocs()
				for b.Loop() {
					sink = c.copy(objects[r.IntN(many)])
				}
			})
			for _, ours := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/of-%d/%s", c.name, many, map[bool]string{true: "ours", false: "stock"}[ours]), func(b *testing.B) {
					docs := make([][]byte, many)
					for i := range docs {
						docs[i] = bytes.Clone(c.doc)
					}
					r := rand.New(rand.NewPCG(1, 2))
					goruntime.GC()
					b.ReportAllocs()
					for b.Loop() {
						var err error
						if sink, err = c.read(ours, docs[r.IntN(many)]); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
