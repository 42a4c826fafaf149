package corpus

import (
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// event is about a Pod of the app. Its step is the reason.
func (g *member) event() Object {
	a := g.apps[int(g.owner)%len(g.apps)]
	reason := int(g.step)
	if g.born == 0 {
		reason = int(g.index) % 5
	}
	about := ref{podKind, int32(a.number), int32(g.r.IntN(a.size)), int32(a.revision)}
	pod := g.podName(a, about.revision, int(about.index))
	at := metav1.NewTime(listed.Add(-time.Duration(g.r.IntN(3600)) * time.Second))
	if g.born > 0 {
		at = g.time(0)
	}
	node := nodeName(g.r.IntN(g.nodes))
	image := g.image(a, about.revision)
	main := partWords[a.number/len(appWords)%len(partWords)]
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s.%016x", pod, uint64(at.UnixNano())+g.r.Uint64N(1e9)), Namespace: g.namespace(a), UID: g.uid(g.ref), CreationTimestamp: at,
	}}
	e.InvolvedObject = corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: e.Namespace, Name: pod, UID: g.uid(about), ResourceVersion: fmt.Sprint(FirstVersion + g.r.IntN(FirstVersion))}
	e.Type, e.Source = corev1.EventTypeNormal, corev1.EventSource{Component: "kubelet", Host: node}
	e.ReportingController, e.ReportingInstance = "kubelet", node
	switch reason {
	case 0:
		e.Reason, e.Message = "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", e.Namespace, pod, node)
		e.Source, e.ReportingController, e.ReportingInstance = corev1.EventSource{Component: "default-scheduler"}, "default-scheduler", ""
	case 1:
		e.Reason, e.Message = "Pulled", fmt.Sprintf("Successfully pulled image %q in %dms (%dms including waiting). Image size: %d bytes.", image, 100+g.r.IntN(5000), 5100+g.r.IntN(5000), 10_000_000+g.r.IntN(400_000_000))
	case 2:
		e.Reason, e.Message = "Created", "Created container: "+main
	case 3:
		e.Reason, e.Message = "Started", "Started container "+main
	default:
		e.Reason, e.Message = "Killing", "Stopping container "+main
	}
	if reason > 0 {
		e.InvolvedObject.FieldPath = "spec.containers{" + main + "}"
	}
	e.FirstTimestamp, e.LastTimestamp, e.Count = at, at, 1
	return e
}

// slice has the Pods of a part of an app. In a rollout the first of them, as many as its step says,
// are of its revision, and the others of the one before.
func (g *member) slice() Object {
	a := g.ownerOf()
	name := fmt.Sprintf("%s-%s", a.name(), suffix(int(g.index), a.number))
	s := &discoveryv1.EndpointSlice{ObjectMeta: g.meta(a, name), AddressType: discoveryv1.AddressTypeIPv4}
	s.GenerateName = a.name() + "-"
	maps.Copy(s.Labels, map[string]string{"kubernetes.io/service-name": a.name(), "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"})
	s.Annotations = map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": g.time(-g.r.IntN(10_000)).UTC().Format(time.RFC3339)}
	if g.at > 0 {
		s.Annotations["endpoints.kubernetes.io/last-change-trigger-time"] = g.time(0).UTC().Format(time.RFC3339)
	}
	s.OwnerReferences = controlledBy("v1", "Service", a.name(), types.UID(uid(g.appRand(a, "service"))))
	s.Generation = 1 + int64(g.at)
	for i := int(g.index) * ofSlice; i < min(a.size, int(g.index+1)*ofSlice); i++ {
		pod := ref{podKind, g.owner, int32(i), g.revision}
		if g.at > 0 && i >= int(g.step) {
			pod.revision--
		}
		m := member{Cluster: g.Cluster, ref: pod, state: state{step: podReady}, r: g.rand(clusterKinds[podKind].resource, pod.number())}
		p := m.pod().(*corev1.Pod)
		node := p.Spec.NodeName
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{p.Status.PodIP}, NodeName: &node, Zone: ptr("eu-central-1" + string("abc"[i%3])),
			Conditions: discoveryv1.EndpointConditions{Ready: ptr(true), Serving: ptr(true), Terminating: ptr(false)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		})
	}
	tcp := corev1.ProtocolTCP
	s.Ports = []discoveryv1.EndpointPort{{Name: ptr("http"), Protocol: &tcp, Port: ptr(int32(8080))}, {Name: ptr("metrics"), Protocol: &tcp, Port: ptr(int32(9090))}}
	return s
}

// ofNamespaces reports whether every namespace has such an object.
func (g *member) ofNamespaces() bool { return g.index == 1 }

// inNamespace returns the metadata of an object that every namespace has.
func (g *member) inNamespace(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespaceName(int(g.owner)), UID: g.uid(g.ref), CreationTimestamp: g.created()}
}

func (g *member) secret() Object {
	if g.ofNamespaces() {
		s := &corev1.Secret{ObjectMeta: g.inNamespace("registry"), Type: corev1.SecretTypeDockerConfigJson}
		s.Data = map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"registry.example.org":{"username":"pull","password":"` + word(g.rand("pull", 0), 40) + `"}}}`)}
		return s
	}
	a := g.ownerOf()
	s := &corev1.Secret{ObjectMeta: g.meta(a, a.name()), Type: corev1.SecretTypeOpaque}
	s.Annotations = g.release(a)
	s.Data = map[string][]byte{"password": []byte(alphanumeric(g, 2048))}
	return s
}

func alphanumeric(g *member, n int) string {
	const all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		b[i] = all[g.r.IntN(len(all))]
	}
	return string(b)
}

func (g *member) configMap() Object {
	if g.ofNamespaces() {
		m := &corev1.ConfigMap{ObjectMeta: g.inNamespace("kube-root-ca.crt")}
		m.Annotations = map[string]string{"kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."}
		ca := member{Cluster: g.Cluster, r: g.rand("ca", 0)}
		m.Data = map[string]string{"ca.crt": "-----BEGIN CERTIFICATE-----\n" + alphanumeric(&ca, 1400) + "\n-----END CERTIFICATE-----\n"}
		return m
	}
	a := g.ownerOf()
	m := &corev1.ConfigMap{ObjectMeta: g.meta(a, a.name()+"-config")}
	m.Annotations = g.release(a)
	text := &maker{r: g.r}
	m.Data = map[string]string{"config.yaml": text.text(100 + g.r.IntN(4000))}
	return m
}

// widget is a custom resource of about 10 kB of JSON with managedFields. Its step counts what its
// controller did.
func (g *member) widget() Object {
	a := g.ownerOf()
	shared := g.appRand(a, "widget")
	var steps []any
	for i := range 14 {
		steps = append(steps, map[string]any{
			"name": fmt.Sprintf("step-%d", i), "image": g.image(a, g.revision), "command": []any{"sh", "-c", "run --stage " + word(shared, 12) + " --target " + word(shared, 8)},
			"timeoutSeconds": int64(30 * (1 + shared.IntN(20))), "retries": int64(i % 4), "privileged": false,
			"environment": map[string]any{"STAGE": "production", "KEY": word(shared, 20), "REGION": "eu-central-1"},
		})
	}
	changed := g.created()
	if g.at > 0 {
		changed = g.time(0)
	}
	var conditions []any
	for _, t := range []string{"Ready", "Progressing", "Degraded", "Synced"} {
		conditions = append(conditions, map[string]any{"type": t, "status": map[bool]string{true: "True", false: "False"}[t == "Ready" || t == "Synced"], "reason": "AsExpected", "message": "All is well with revision " + fmt.Sprint(g.revision), "observedGeneration": int64(g.revision), "lastTransitionTime": changed.UTC().Format(time.RFC3339)})
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": widgets.String(), "kind": "Widget",
		"spec":   map[string]any{"owner": a.name(), "size": int64(a.size), "ratio": 0.25, "key": word(g.r, 24), "steps": steps, "notes": strings.Repeat(word(shared, 30)+" ", 20)},
		"status": map[string]any{"observedGeneration": int64(g.revision), "runs": int64(g.step), "conditions": conditions},
	}}
	m := g.meta(a, a.name())
	u.SetName(m.Name)
	u.SetNamespace(m.Namespace)
	u.SetUID(m.UID)
	u.SetLabels(m.Labels)
	u.SetAnnotations(g.release(a))
	u.SetGeneration(int64(g.revision))
	u.SetCreationTimestamp(m.CreationTimestamp)
	return u
}
