package policies

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// Quotas returns the controller that writes the usage of its namespace into the status of each ResourceQuota.
func Quotas(control.Options) control.Controller {
	user := control.ServiceAccount("resourcequota-controller")
	return &control.Keyed{Title: "resourcequota-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		if parts := strings.Split(c.Key, "/"); len(parts) == 5 { // in a namespace
			for o := range s.All(calls.Quotas.Prefix(parts[3])) {
				add(o.Key)
			}
		}
	}, Reconcile: func(now time.Time, s *control.State, key string) control.Result {
		q := control.Get[corev1.ResourceQuota](s, key)
		if q == nil {
			return control.Result{}
		}
		used := corev1.ResourceList{}
		for name := range q.Spec.Hard {
			if n, known := usage(now, s, q, name); known {
				used[name] = n
			} else if n, ok := q.Status.Used[name]; ok {
				used[name] = n
			}
		}
		if equality.Semantic.DeepEqual(q.Status.Hard, q.Spec.Hard) && equality.Semantic.DeepEqual(q.Status.Used, used) {
			return control.Result{}
		}
		next := q.DeepCopy()
		next.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: used}
		c := &calls.Calls{User: user}
		c.UpdateStatus(next)
		return control.Result{Requests: c.List}
	}}
}

// counted has the kinds whose objects a quota counts by a resource name of its own, such as "pods".
var counted = map[corev1.ResourceName]control.Kind{
	corev1.ResourceServices: calls.Services, corev1.ResourcePersistentVolumeClaims: calls.Claims, corev1.ResourceReplicationControllers: control.ReplicationControllers,
	corev1.ResourceQuotas: calls.Quotas, corev1.ResourceConfigMaps: control.ConfigMaps, corev1.ResourceSecrets: control.NewKind("", "v1", "secrets"),
}

const ofClass = ".storageclass.storage.k8s.io/"

// usage returns how much of a resource the namespace of a quota uses. It reports false for a name that is no resource.
func usage(now time.Time, s *control.State, q *corev1.ResourceQuota, name corev1.ResourceName) (resource.Quantity, bool) {
	sum := resource.Quantity{Format: resource.DecimalSI}
	if kind, ok := counted[name]; ok {
		return *resource.NewQuantity(count(s, kind.Prefix(q.Namespace)), resource.DecimalSI), true
	}
	if text, ok := strings.CutPrefix(string(name), "count/"); ok {
		plural, group, _ := strings.Cut(text, ".")
		if group == "" {
			group = "core"
		}
		return *resource.NewQuantity(count(s, "/"+group+"/"+plural+"/"+q.Namespace+"/"), resource.DecimalSI), true
	}
	class, what, byClass := strings.Cut(string(name), ofClass)
	switch {
	case byClass, name == corev1.ResourceRequestsStorage:
		if !byClass {
			what = string(name)
		}
		for _, c := range control.List[corev1.PersistentVolumeClaim](s, calls.Claims, q.Namespace) {
			if byClass && (c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != class) {
				continue
			}
			if what == string(corev1.ResourceRequestsStorage) {
				plus(&sum, c.Spec.Resources.Requests[corev1.ResourceStorage])
			} else {
				plus(&sum, *resource.NewQuantity(1, resource.DecimalSI))
			}
		}
	case name == corev1.ResourceServicesNodePorts, name == corev1.ResourceServicesLoadBalancers:
		for _, x := range control.List[corev1.Service](s, calls.Services, q.Namespace) {
			plus(&sum, *resource.NewQuantity(ports(x, name), resource.DecimalSI))
		}
	case name != corev1.ResourcePods && !isCompute(name):
		return sum, false
	default:
		for _, p := range control.List[corev1.Pod](s, control.Pods, q.Namespace) {
			if counts(now, p) && inScope(q, p) {
				plus(&sum, podUsage(p, name))
			}
		}
	}
	return sum, true
}

func count(s *control.State, prefix string) (n int64) {
	for range s.All(prefix) {
		n++
	}
	return n
}

// plus adds n to a sum. A zero sum takes the format of n.
func plus(sum *resource.Quantity, n resource.Quantity) {
	if sum.IsZero() && !n.IsZero() {
		sum.Format = n.Format
	}
	sum.Add(n)
}

// ports returns how much a Service counts for one of the resource names about Services.
func ports(s *corev1.Service, name corev1.ResourceName) int64 {
	balanced := s.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case name == corev1.ResourceServicesLoadBalancers && balanced:
		return 1
	case name == corev1.ResourceServicesLoadBalancers:
		return 0
	case balanced && s.Spec.AllocateLoadBalancerNodePorts != nil && !*s.Spec.AllocateLoadBalancerNodePorts:
		return int64(len(slices.DeleteFunc(slices.Clone(s.Spec.Ports), func(p corev1.ServicePort) bool { return p.NodePort == 0 })))
	case balanced, s.Spec.Type == corev1.ServiceTypeNodePort:
		return int64(len(s.Spec.Ports))
	}
	return 0
}

// isCompute reports whether a name is that of a resource that containers request or limit.
func isCompute(name corev1.ResourceName) bool {
	text := string(name)
	return slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, text) || strings.HasPrefix(text, "hugepages-") ||
		strings.HasPrefix(text, "requests.") || strings.HasPrefix(text, "limits.")
}

// counts reports whether a quota counts a Pod: it has not ended, and the end of its deletion is not overdue.
func counts(now time.Time, p *corev1.Pod) bool {
	if pod.Ended(p) {
		return false
	}
	d, g := p.DeletionTimestamp, p.DeletionGracePeriodSeconds
	return d == nil || g == nil || !now.After(d.Add(time.Duration(*g)*time.Second))
}

// podUsage returns how much of a resource a Pod requests: the sum of its containers or, if that is more, the highest
// of its init containers; and its overhead.
func podUsage(p *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourcePods {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	text, limits := strings.CutPrefix(string(name), "limits.")
	what := corev1.ResourceName(strings.TrimPrefix(text, "requests."))
	of := func(r corev1.ResourceRequirements) resource.Quantity {
		if limits {
			return r.Limits[what]
		}
		return r.Requests[what]
	}
	if r := p.Spec.Resources; r != nil {
		if n := of(*r); !n.IsZero() {
			plus(&n, p.Spec.Overhead[what])
			return n
		}
	}
	var sum, sidecars, most resource.Quantity
	for _, c := range p.Spec.Containers {
		plus(&sum, of(c.Resources))
	}
	for _, c := range p.Spec.InitContainers {
		n := of(c.Resources)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			plus(&sidecars, n)
			n = sidecars.DeepCopy()
		} else {
			plus(&n, sidecars)
		}
		if n.Cmp(most) > 0 {
			most = n
		}
	}
	plus(&sum, sidecars)
	if most.Cmp(sum) > 0 {
		sum = most
	}
	plus(&sum, p.Spec.Overhead[what])
	return sum
}

// inScope reports whether all scopes of a quota match a Pod.
func inScope(q *corev1.ResourceQuota, p *corev1.Pod) bool {
	var all []corev1.ScopedResourceSelectorRequirement
	for _, scope := range q.Spec.Scopes {
		all = append(all, corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if q.Spec.ScopeSelector != nil {
		all = append(all, q.Spec.ScopeSelector.MatchExpressions...)
	}
	return !slices.ContainsFunc(all, func(r corev1.ScopedResourceSelectorRequirement) bool { return !matchesScope(r, p) })
}

func matchesScope(r corev1.ScopedResourceSelectorRequirement, p *corev1.Pod) bool {
	terminating, bestEffort := p.Spec.ActiveDeadlineSeconds != nil, p.Status.QOSClass == corev1.PodQOSBestEffort
	class := p.Spec.PriorityClassName
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return terminating
	case corev1.ResourceQuotaScopeNotTerminating:
		return !terminating
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort
	case corev1.ResourceQuotaScopePriorityClass:
		switch r.Operator {
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(r.Values, class)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(r.Values, class)
		case corev1.ScopeSelectorOpDoesNotExist:
			return class == ""
		}
		return class != ""
	}
	return false
}
