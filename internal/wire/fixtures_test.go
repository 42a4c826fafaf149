package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/internal/wire"
)

var (
	types  = clientgoscheme.Scheme
	pods   = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Scheme: types}
	maps   = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Scheme: types}
	deploy = &wire.Kind{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Scheme: types}
	// things are custom resources without a Go type.
	things = &wire.Kind{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}, Scheme: types}
)

// The stock serializers: what API servers write with.
var (
	stockProto = protobuf.NewSerializer(types, types)
	stockJSON  = kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, types, types, kjson.SerializerOptions{})
)

// stock encodes an object with its envelope, as a server does.
func stock(t testing.TB, enc wire.Encoding, obj runtime.Object) []byte {
	t.Helper()
	s := runtime.Serializer(stockJSON)
	if enc == wire.Protobuf {
		s = stockProto
	}
	var buf bytes.Buffer
	if err := s.Encode(obj, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// raw encodes an object of a kind into the form that a store holds.
func raw(t testing.TB, enc wire.Encoding, kind *wire.Kind, obj runtime.Object) wire.Raw {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(kind.GVK)
	r, err := wire.ParseObject(stock(t, enc, obj), contentType(enc), kind)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func contentType(enc wire.Encoding) string {
	if enc == wire.Protobuf {
		return wire.ContentTypeProtobuf
	}
	return wire.ContentTypeJSON
}

// bothEncodings runs a test once for each encoding.
func bothEncodings(t *testing.T, test func(*testing.T, wire.Encoding)) {
	for _, enc := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		t.Run(enc.String(), func(t *testing.T) { test(t, enc) })
	}
}

func body(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// randomObjects fills objects with random content.
func randomObjects(seed int64) *randfill.Filler {
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any {
		return []any{
			func(m *metav1.ObjectMeta, c randfill.Continue) {
				c.FillNoCustom(m)
				m.Name = "n" + c.String(0)
				m.CreationTimestamp = metav1.Time{Time: m.CreationTimestamp.Truncate(time.Second)}
				if m.DeletionTimestamp != nil {
					m.DeletionTimestamp = &metav1.Time{Time: time.Unix(c.Int63n(1<<33), 0)}
				}
				m.ManagedFields = nil
				for range c.Intn(3) {
					m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{
						Manager: c.String(0), Operation: "Apply", FieldsType: "FieldsV1",
						FieldsV1: fieldsv1.New(`{"f:spec":{"f:x":{}}}`),
					})
				}
			},
		}
	})
	return fuzzer.FuzzerFor(funcs, rand.NewSource(seed), serializer.NewCodecFactory(types)).NilChance(0.3).NumElements(0, 3)
}

// bigPod is a Pod as clusters have them: about 6.7 kB in protobuf, with managed fields.
func bigPod(i int) *corev1.Pod {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, i%60, 0, time.UTC))
	controller := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("shop-frontend-7c9d8b6f5-%05d", i), GenerateName: "shop-frontend-7c9d8b6f5-", Namespace: "shop-production",
			UID: "0e9f2f8a-5a3b-4c3e-9d6f-2f1f6f1c9a11", ResourceVersion: fmt.Sprint(8000000 + i), CreationTimestamp: at, Generation: 1,
			Labels: map[string]string{
				"app": "shop-frontend", "app.kubernetes.io/name": "frontend", "app.kubernetes.io/part-of": "shop",
				"pod-template-hash": "7c9d8b6f5", "track": "stable",
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"checksum/config": "6d7fce9fee471194aa8b5b6e47267f03aa8b5b6e47267f0312a8b5b6e47267f0",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop-frontend-7c9d8b6f5",
				UID: "3b1c6a52-14ad-4d42-8a4e-6a4a76b5a1c9", Controller: &controller, BlockOwnerDeletion: &controller,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%03d", i%100), ServiceAccountName: "frontend", RestartPolicy: corev1.RestartPolicyAlways,
			DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
			NodeSelector: map[string]string{"kubernetes.io/os": "linux"},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64)},
				{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64)},
			},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "frontend"}},
			}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.3.17", PodIP: "10.244.7.23", QOSClass: corev1.PodQOSBurstable, StartTime: &at,
		},
	}
	for _, name := range []string{"app", "sidecar"} {
		c := corev1.Container{
			Name: name, Image: "registry.example.com/shop/" + name + ":v1.42.0", ImagePullPolicy: corev1.PullIfNotPresent,
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("512Mi")},
			},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: "HTTP"},
			}, PeriodSeconds: 10, FailureThreshold: 3},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop", ReadOnly: true}},
		}
		for j := range 12 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SHOP_SETTING_%02d", j), Value: "https://service.shop-production.svc:8443/path"})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, RestartCount: 1, Image: c.Image, ImageID: "registry.example.com/shop@sha256:" + strings.Repeat("ab", 32),
			ContainerID: "containerd://" + strings.Repeat("cd", 32), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	for _, c := range []corev1.PodConditionType{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	var env strings.Builder
	for j := range 12 {
		fmt.Fprintf(&env, `,"k:{\"name\":\"SHOP_SETTING_%02d\"}":{".":{},"f:name":{},"f:value":{}}`, j)
	}
	fields := `{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},` +
		`"f:env":{".":{}` + env.String() + `},"f:image":{}}}}}`
	for _, manager := range []string{"kube-controller-manager", "kubelet"} {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: fieldsv1.New(fields),
		})
	}
	return p
}

func smallDeployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", ResourceVersion: "7"}}
}

// thing is a custom resource as JSON.
func thing(name, rest string) []byte {
	return []byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"` + name + `","namespace":"ns"}` + rest + `}`)
}

// diffObjects says how two objects differ in meaning; empty slices are as nil ones.
func diffObjects(want, got any) string {
	if equality.Semantic.DeepEqual(want, got) {
		return ""
	}
	a, _ := json.MarshalIndent(want, "", " ")
	b, _ := json.MarshalIndent(got, "", " ")
	return cmp.Diff(string(a), string(b)) + " (differ)"
}
