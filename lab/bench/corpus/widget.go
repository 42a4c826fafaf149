package corpus

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/scheme"
)

// Widget is the Go type of the custom resources of a corpus.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec"`
	Status WidgetStatus `json:"status,omitzero"`
}

// WidgetSpec is the desired state of a Widget.
type WidgetSpec struct {
	Owner string       `json:"owner"`
	Size  int64        `json:"size"`
	Ratio float64      `json:"ratio"`
	Key   string       `json:"key"`
	Steps []WidgetStep `json:"steps,omitempty"`
	Notes string       `json:"notes,omitempty"`
}

// WidgetStep is one step of a Widget.
type WidgetStep struct {
	Name           string            `json:"name"`
	Image          string            `json:"image"`
	Command        []string          `json:"command,omitempty"`
	TimeoutSeconds int64             `json:"timeoutSeconds"`
	Retries        int64             `json:"retries"`
	Privileged     bool              `json:"privileged"`
	Environment    map[string]string `json:"environment,omitempty"`
}

// WidgetStatus is the observed state of a Widget.
type WidgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Runs               int64              `json:"runs"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// WidgetList is a list of Widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

// DeepCopyInto copies all of w.
func (w *Widget) DeepCopyInto(out *Widget) {
	*out = *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Steps = slices.Clone(w.Spec.Steps)
	for i, s := range w.Spec.Steps {
		out.Spec.Steps[i].Command = slices.Clone(s.Command)
		out.Spec.Steps[i].Environment = maps.Clone(s.Environment)
	}
	out.Status.Conditions = slices.Clone(w.Status.Conditions)
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	out := new(Widget)
	w.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return &out
}

var widgets = schema.GroupVersion{Group: "bench.example.org", Version: "v1"}

// Scheme has the Go types of all kinds of corpora. It must not be changed.
var Scheme = func() *runtime.Scheme {
	s := scheme.New()
	s.AddKnownTypes(widgets, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(s, widgets)
	return s
}()

// widget returns a custom resource of about 10 kB.
func widget(g *maker) Object {
	var steps []any
	for i := range 16 {
		steps = append(steps, map[string]any{
			"name": fmt.Sprintf("step-%d", i), "image": "registry.example.org/tools/" + word(g.shared, 8) + ":v2", "command": []any{"sh", "-c", "run " + word(g.shared, 40)},
			"timeoutSeconds": int64(30 + g.shared.IntN(600)), "retries": int64(i % 4), "privileged": false,
			"environment": map[string]any{"STAGE": "production", "KEY": word(g.shared, 20)},
		})
	}
	var conditions []any
	for _, t := range []string{"Ready", "Progressing", "Degraded", "Synced"} {
		conditions = append(conditions, map[string]any{"type": t, "status": "True", "reason": "AsExpected", "message": "as of " + hex(g.r, 12), "observedGeneration": int64(1), "lastTransitionTime": g.at(time.Duration(g.n) * time.Second).UTC().Format(time.RFC3339)})
	}
	spec := map[string]any{"owner": g.app(), "size": int64(g.r.IntN(100)), "ratio": 0.25, "key": base64.StdEncoding.EncodeToString(g.random(24)), "steps": steps, "notes": strings.Repeat(word(g.shared, 30)+" ", 60)}
	return custom(widgets.WithKind("Widget"), g.meta(g.app(), nil), spec, map[string]any{"observedGeneration": int64(1), "runs": int64(g.n), "conditions": conditions})
}

// custom returns a custom resource.
func custom(kind schema.GroupVersionKind, m metav1.ObjectMeta, spec, status map[string]any) Object {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
	u.SetGroupVersionKind(kind)
	u.SetName(m.Name)
	u.SetNamespace(m.Namespace)
	u.SetUID(m.UID)
	u.SetLabels(m.Labels)
	u.SetAnnotations(m.Annotations)
	u.SetOwnerReferences(m.OwnerReferences)
	u.SetGeneration(1)
	u.SetCreationTimestamp(m.CreationTimestamp)
	return u
}
