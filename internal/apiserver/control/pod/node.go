package pod

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// MatchesNode reports whether the node selector and the required node affinity of a Pod match a Node.
func MatchesNode(spec *corev1.PodSpec, node *corev1.Node) bool {
	for k, v := range spec.NodeSelector {
		if got, ok := node.Labels[k]; !ok || got != v {
			return false
		}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return Selects(spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, node)
}

// Selects reports whether one of the terms of a selector matches a Node.
func Selects(s *corev1.NodeSelector, node *corev1.Node) bool {
	return slices.ContainsFunc(s.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			return false
		}
		name := map[string]string{"metadata.name": node.Name}
		return !slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return !requirementMatches(r, node.Labels) }) &&
			!slices.ContainsFunc(t.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return !requirementMatches(r, name) })
	})
}

func requirementMatches(r corev1.NodeSelectorRequirement, values map[string]string) bool {
	got, ok := values[r.Key]
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return ok && slices.Contains(r.Values, got)
	case corev1.NodeSelectorOpNotIn:
		return !ok || !slices.Contains(r.Values, got)
	case corev1.NodeSelectorOpExists:
		return ok
	case corev1.NodeSelectorOpDoesNotExist:
		return !ok
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if !ok || len(r.Values) != 1 {
			return false
		}
		have, err := strconv.ParseInt(got, 10, 64)
		if err != nil {
			return false
		}
		want, err := strconv.ParseInt(r.Values[0], 10, 64)
		return err == nil && (r.Operator == corev1.NodeSelectorOpGt && have > want || r.Operator == corev1.NodeSelectorOpLt && have < want)
	}
	return false
}

// Tolerates reports whether tolerations cover all taints of a Node that have one of the effects.
func Tolerates(tolerations []corev1.Toleration, node *corev1.Node, effects ...corev1.TaintEffect) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(effects, t.Effect) && !slices.ContainsFunc(tolerations, func(x corev1.Toleration) bool { return ToleratesTaint(x, t) })
	})
}

// ToleratesTaint reports whether a toleration tolerates a taint.
func ToleratesTaint(x corev1.Toleration, t corev1.Taint) bool {
	if x.Effect != "" && x.Effect != t.Effect || x.Key != "" && x.Key != t.Key {
		return false
	}
	switch x.Operator {
	case "", corev1.TolerationOpEqual:
		return x.Value == t.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}
