package services

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func aPod(i int) *corev1.Pod {
	name := fmt.Sprintf("p%03d", i)
	ip := fmt.Sprintf("10.0.%d.%d", i/200, i%200+1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(time.Duration(i) * time.Second))}},
		},
	}
}

const serviceText = `{"metadata":{"name":"web","namespace":"ns","uid":"web","labels":{"l":"m"},"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"clusterIP":"10.1.0.1","ipFamilies":["IPv4"],"selector":{"a":"b"},"ports":[PORTS]}}`

func service(t *testing.T, ports string) *corev1.Service {
	return controltest.Parse[corev1.Service](t, strings.Replace(serviceText, "PORTS", ports, 1))
}

func TestEndpoints(t *testing.T) {
	s := service(t, `{"name":"a","port":80,"protocol":"TCP","targetPort":8080},{"name":"b","port":81,"protocol":"TCP","targetPort":"named"}`)
	ready, waiting, named, gone := aPod(1), aPod(2), aPod(3), aPod(4)
	waiting.Status.Conditions[0].Status = corev1.ConditionFalse
	named.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "named", Protocol: "TCP", ContainerPort: 9090}}}}
	now := metav1.NewTime(start)
	gone.DeletionTimestamp = &now
	pods := []*corev1.Pod{ready, waiting, named, gone}
	c := &calls.Calls{}
	syncEndpoints(c, s, pods, nil)
	e := controltest.Parse[Endpoints](t, string(c.List[0].Body))
	var got []string
	for _, x := range e.Subsets {
		text := ""
		for _, p := range x.Ports {
			text += fmt.Sprintf("%s:%d ", p.Name, p.Port)
		}
		for _, a := range x.Addresses {
			text += "+" + a.TargetRef.Name
		}
		for _, a := range x.NotReadyAddresses {
			text += "-" + a.TargetRef.Name
		}
		got = append(got, text)
	}
	slices.Sort(got)
	if want := []string{"a:8080 +p001+p003-p002", "b:9090 +p003"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if c.List[0].Method != "POST" || e.Labels[managedBy] != manager || e.Labels["l"] != "m" || e.Annotations[corev1.EndpointsLastChangeTriggerTime] != "2026-01-01T00:00:00Z" {
		t.Errorf("%s %+v", c.List[0].Method, e.ObjectMeta)
	}
	c = &calls.Calls{}
	e.ResourceVersion = "1"
	syncEndpoints(c, s, pods, e)
	if len(c.List) != 0 {
		t.Errorf("%s", c.List[0].Body)
	}
	waiting.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(time.Hour))}
	syncEndpoints(c, s, pods, e)
	e = controltest.Parse[Endpoints](t, string(c.List[0].Body))
	if c.List[0].Method != "PUT" || e.Annotations[corev1.EndpointsLastChangeTriggerTime] != "2026-01-01T01:00:00Z" {
		t.Errorf("%s %+v", c.List[0].Method, e.ObjectMeta)
	}
}

// No more addresses than fit are in one object, and those that are ready first.
func TestManyAddresses(t *testing.T) {
	s := service(t, `{"port":80,"protocol":"TCP","targetPort":8080}`)
	var pods []*corev1.Pod
	for i := range 1100 {
		p := aPod(i)
		if i%2 == 0 {
			p.Status.Conditions = nil
		}
		pods = append(pods, p)
	}
	c := &calls.Calls{}
	syncEndpoints(c, s, pods, nil)
	e := controltest.Parse[Endpoints](t, string(c.List[0].Body))
	if x := e.Subsets[0]; len(x.Addresses) != 550 || len(x.NotReadyAddresses) != 450 || e.Annotations[corev1.EndpointsOverCapacity] != "truncated" {
		t.Errorf("%d and %d, %v", len(x.Addresses), len(x.NotReadyAddresses), e.Annotations)
	}
}

// sliceWorld holds the slices of a Service.
type sliceWorld struct {
	t      *testing.T
	s      *corev1.Service
	slices []*discoveryv1.EndpointSlice
	made   int
}

// step checks what a step does, and the sizes of the slices after it.
func (w *sliceWorld) step(pods []*corev1.Pod, want string) {
	w.t.Helper()
	c := &calls.Calls{}
	syncSlices(c, w.s, pods, func(string) *corev1.Node { return &corev1.Node{} }, w.slices)
	w.do(c, want)
}

func (w *sliceWorld) do(c *calls.Calls, want string) {
	w.t.Helper()
	var verbs []string
	for _, r := range c.List {
		verbs = append(verbs, r.Method)
		if r.Method == "DELETE" {
			w.slices = slices.DeleteFunc(w.slices, func(x *discoveryv1.EndpointSlice) bool { return strings.HasSuffix(r.URL, "/"+x.Name) })
			continue
		}
		x := controltest.Parse[discoveryv1.EndpointSlice](w.t, string(r.Body))
		if r.Method == "POST" {
			w.made++
			x.Name = fmt.Sprint(x.GenerateName, w.made)
			w.slices = append(w.slices, x)
		}
		for i, old := range w.slices {
			if old.Name == x.Name {
				w.slices[i] = x
			}
		}
	}
	got := strings.Join(verbs, " ") + ":"
	for _, x := range w.slices {
		got += fmt.Sprintf(" %s %d", x.Name, len(x.Endpoints))
	}
	if got != want {
		w.t.Errorf("%s, want %s", got, want)
	}
}

func TestSlices(t *testing.T) {
	w := &sliceWorld{t: t, s: service(t, `{"port":80,"protocol":"TCP","targetPort":8080}`)}
	w.step(nil, "POST: web-1 0")
	w.step(nil, ": web-1 0")
	var pods []*corev1.Pod
	for i := range 130 {
		pods = append(pods, aPod(i))
	}
	w.step(pods[:120], "POST PUT: web-1 20 web-2 100")
	w.step(pods, "PUT: web-1 30 web-2 100")
	w.step(pods, ": web-1 30 web-2 100")
	pods[5].Status.Conditions[0].Status = corev1.ConditionFalse
	w.step(pods, "PUT: web-1 30 web-2 100")
	w.s.Labels = nil
	w.step(pods, "PUT PUT: web-1 30 web-2 100")
	w.step(pods[100:], "DELETE: web-1 30")
	w.s.Spec.Ports[0].Port = 81
	w.s.Spec.Ports[0].TargetPort.IntVal = 81
	w.step(pods[100:], "PUT: web-1 30")
	if p := *w.slices[0].Ports[0].Port; p != 81 {
		t.Errorf("port %d", p)
	}
	w.s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	w.step(pods[100:], "POST DELETE: web-3 0")
}

func TestMirror(t *testing.T) {
	w := &sliceWorld{t: t}
	s := service(t, `{"port":80}`)
	s.Spec.Selector = nil
	e := controltest.Parse[Endpoints](t, `{"metadata":{"name":"web","namespace":"ns","uid":"e","labels":{"l":"m"},"annotations":{"x":"y"}},"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"fd00::1","hostname":"h"},{"ip":"x"}],"notReadyAddresses":[{"ip":"10.0.0.2"}],"ports":[{"port":80}]}]}`)
	step := func(s *corev1.Service, want string) {
		t.Helper()
		c := &calls.Calls{}
		syncMirror(c, s, e, w.slices)
		w.do(c, want)
	}
	step(s, "POST POST: web-1 2 web-2 1")
	if x := w.slices[0]; *x.Endpoints[0].Conditions.Ready != true || *x.Endpoints[1].Conditions.Ready || x.Labels["l"] != "m" || x.Annotations["x"] != "y" || x.Labels[discoveryv1.LabelManagedBy] != mirrorManager {
		t.Errorf("%+v", x)
	}
	step(s, ": web-1 2 web-2 1")
	e.Annotations["x"] = "z"
	step(s, "PUT PUT: web-1 2 web-2 1")
	e.Subsets[0].NotReadyAddresses = nil
	step(s, "PUT: web-1 1 web-2 1")
	e.Labels[discoveryv1.LabelSkipMirror] = "true"
	step(s, "DELETE DELETE:")
	delete(e.Labels, discoveryv1.LabelSkipMirror)
	step(nil, ":")
	s.Spec.Selector = map[string]string{"a": "b"}
	step(s, ":")
}
