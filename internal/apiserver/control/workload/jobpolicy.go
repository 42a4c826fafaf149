package workload

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// verdict is the result of a pod failure policy for a failed Pod.
type verdict struct {
	// action is the action of the first rule that matches; "" if none does.
	action batchv1.PodFailurePolicyAction
	// message says why the Job fails; "" if it does not.
	message string
}

func (v verdict) counts() bool { return v.action != batchv1.PodFailurePolicyActionIgnore }

// judge applies the policy to a pod.
func judge(policy *batchv1.PodFailurePolicy, p *corev1.Pod) verdict {
	if policy == nil {
		return verdict{}
	}
	for i, rule := range policy.Rules {
		var why string
		switch {
		case rule.OnExitCodes != nil:
			s := failedContainer(p, rule.OnExitCodes)
			if s == nil {
				continue
			}
			why = fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d matching %s rule at index %d", s.Name, p.Namespace, p.Name, s.State.Terminated.ExitCode, rule.Action, i)
		default:
			at := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return slices.ContainsFunc(rule.OnPodConditions, func(w batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
					return w.Type == c.Type && w.Status == c.Status
				})
			})
			if at < 0 {
				continue
			}
			why = fmt.Sprintf("Pod %s/%s has condition %s matching %s rule at index %d", p.Namespace, p.Name, p.Status.Conditions[at].Type, rule.Action, i)
		}
		v := verdict{action: rule.Action}
		if rule.Action == batchv1.PodFailurePolicyActionFailJob {
			v.message = why
		}
		return v
	}
	return verdict{}
}

// failedContainer returns the first container whose exit code the rule matches; nil if there is none.
func failedContainer(p *corev1.Pod, rule *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			s := &list[i]
			if t := s.State.Terminated; t == nil || t.ExitCode == 0 || rule.ContainerName != nil && *rule.ContainerName != s.Name ||
				slices.Contains(rule.Values, t.ExitCode) != (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				continue
			}
			return s
		}
	}
	return nil
}

// meetsSuccess returns the message of the first success rule that the succeeded indexes meet; "" if none does.
func meetsSuccess(job *batchv1.Job, succeeded indexes) string {
	if job.Spec.SuccessPolicy == nil || len(succeeded) == 0 {
		return ""
	}
	for i, rule := range job.Spec.SuccessPolicy.Rules {
		n, want := len(succeeded), -1
		if rule.SucceededIndexes != nil {
			required := parseIndexes(*rule.SucceededIndexes, int(*job.Spec.Completions))
			n, want = 0, len(required)
			for x := range required {
				if succeeded[x] {
					n++
				}
			}
		}
		if n == want && n > 0 || rule.SucceededCount != nil && n >= int(*rule.SucceededCount) {
			return fmt.Sprintf("Matched rules at index %d", i)
		}
	}
	return ""
}
