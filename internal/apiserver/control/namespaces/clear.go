package namespaces

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

var clearer = control.ServiceAccount("namespace-controller")

// Clear returns the controller that deletes the content of a namespace that is being deleted: first its Pods, and then
// all other objects. Then it removes the finalizer of the namespace. Conditions of the namespace say what remains.
func Clear(control.Options) control.Controller {
	return &control.Keyed{
		Title: "namespace-controller",
		Map: func(s *control.State, c control.Change, add func(string)) {
			if c.In(control.Namespaces) {
				add(c.Key)
				return
			}
			for m := range c.Metas() {
				if key := control.Namespaces.Key("", m.Namespace); m.Namespace != "" {
					if ns := s.Meta(key); ns != nil && ns.DeletionTimestamp != nil {
						add(key)
					}
				}
			}
		},
		Reconcile: clear,
		Failed:    refused,
	}
}

// refused writes the condition of a namespace whose content cannot be deleted.
func refused(now time.Time, s *control.State, key string, r core.Request, status *metav1.Status) []core.Request {
	ns := control.Get[corev1.Namespace](s, key)
	if ns == nil || ns.DeletionTimestamp == nil || r.Method != http.MethodDelete {
		return nil
	}
	rest := contents(s, ns.Name)
	rest.failure = status.Message
	next := ns.DeepCopy()
	if !rest.judge(now, next) {
		return nil
	}
	return []core.Request{clearer.UpdateStatus(control.Namespaces, next)}
}

func clear(now time.Time, s *control.State, key string) (r control.Result) {
	ns := control.Get[corev1.Namespace](s, key)
	if ns == nil || ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return r
	}
	rest := contents(s, ns.Name)
	if len(rest.fresh) > 0 {
		for _, path := range rest.fresh {
			r.Requests = append(r.Requests, clearer.Delete(path, metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationBackground)}))
		}
		return r
	}
	next := ns.DeepCopy()
	if rest.judge(now, next) {
		r.Requests = append(r.Requests, clearer.UpdateStatus(control.Namespaces, next))
		return r // the change of the status adds the key again
	}
	if len(rest.count) == 0 {
		next.Spec.Finalizers = slices.DeleteFunc(next.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
		r.Requests = append(r.Requests, clearer.UpdateSub(control.Namespaces, next, "finalize"))
	}
	return r
}

func ptr[T any](v T) *T { return &v }

// content describes the objects in a namespace.
type content struct {
	fresh      []string       // paths of collections with objects that are not being deleted yet
	count      map[string]int // of objects, by resource and group
	finalizers map[string]int
	pods       bool   // there are Pods, and other objects were not counted
	failure    string // why a collection could not be deleted; "" if all could
}

// contents returns the content of a namespace: only its Pods while there are any.
func contents(s *control.State, namespace string) content {
	c := content{count: map[string]int{}, finalizers: map[string]int{}}
	if c.look(s, control.Pods.Prefix(namespace)); len(c.count) > 0 {
		c.pods = true
		return c
	}
	for _, collection := range s.Collections() {
		c.look(s, collection+namespace+"/")
	}
	return c
}

// look adds the objects of one collection to the content.
func (c *content) look(s *control.State, prefix string) {
	var fresh *core.Object
	n := 0
	for o := range s.All(prefix) {
		n++
		m := s.Meta(o.Key)
		if m.DeletionTimestamp == nil {
			fresh = o
		}
		for _, f := range m.Finalizers {
			c.finalizers[f]++
		}
	}
	if n > 0 {
		parts := strings.Split(prefix, "/")
		c.count[parts[2]+"."+strings.TrimPrefix(parts[1], "core")] = n
	}
	if fresh != nil {
		path := s.Path(fresh)
		c.fresh = append(c.fresh, path[:strings.LastIndexByte(path, '/')])
	}
}

// judge sets the conditions of a namespace, and reports whether they have changed.
func (c *content) judge(now time.Time, ns *corev1.Namespace) (changed bool) {
	list := func(m map[string]int, text string) string {
		var out []string
		for _, name := range slices.Sorted(maps.Keys(m)) {
			out = append(out, fmt.Sprintf(text, name, m[name]))
		}
		return strings.Join(out, ", ")
	}
	conditions := []corev1.NamespaceCondition{
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Status: corev1.ConditionFalse, Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
		{Type: corev1.NamespaceDeletionGVParsingFailure, Status: corev1.ConditionFalse, Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
		{Type: corev1.NamespaceDeletionContentFailure, Status: corev1.ConditionFalse, Reason: "ContentDeleted", Message: "All content successfully deleted, may be waiting on finalization"},
		{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionFalse, Reason: "ContentRemoved", Message: "All content successfully removed"},
		{Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionFalse, Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished"},
	}
	if c.failure != "" {
		conditions[2].Status, conditions[2].Reason, conditions[2].Message = corev1.ConditionTrue, "ContentDeletionFailed", "Failed to delete all resource types, 1 remaining: "+c.failure
	}
	counted := !c.pods && c.failure == "" // what cannot be deleted is not counted
	if len(c.count) > 0 && counted {
		conditions[3].Status, conditions[3].Reason, conditions[3].Message = corev1.ConditionTrue, "SomeResourcesRemain", "Some resources are remaining: "+list(c.count, "%s has %d resource instances")
	}
	if len(c.finalizers) > 0 && counted {
		conditions[4].Status, conditions[4].Reason, conditions[4].Message = corev1.ConditionTrue, "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "+list(c.finalizers, "%s in %d resource instances")
	}
	for _, want := range conditions {
		want.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		i := slices.IndexFunc(ns.Status.Conditions, func(h corev1.NamespaceCondition) bool { return h.Type == want.Type })
		if i < 0 {
			ns.Status.Conditions = append(ns.Status.Conditions, want)
			changed = true
			continue
		}
		have := &ns.Status.Conditions[i]
		if have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
		if have.Status != want.Status || have.Reason != want.Reason || have.Message != want.Message {
			*have, changed = want, true
		}
	}
	return changed
}
