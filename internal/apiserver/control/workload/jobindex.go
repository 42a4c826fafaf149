package workload

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// indexes is a set of completion indexes.
type indexes map[int]bool

// parseIndexes reads a text such as "0,2-4,7". It leaves out indexes from limit on, and parts that are no numbers.
func parseIndexes(text string, limit int) indexes {
	out := indexes{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		for i := first; i <= min(last, limit-1); i++ {
			out[i] = true
		}
	}
	return out
}

// String returns the set as the status shows it, with ranges of more than two as "2-4".
func (x indexes) String() string {
	sorted := make([]int, 0, len(x))
	for i := range x {
		sorted = append(sorted, i)
	}
	slices.Sort(sorted)
	var out []string
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n] == sorted[0]+n {
			n++
		}
		switch text := strconv.Itoa(sorted[0]); n {
		case 1:
			out = append(out, text)
		case 2:
			out = append(out, text, strconv.Itoa(sorted[1]))
		default:
			out = append(out, text+"-"+strconv.Itoa(sorted[n-1]))
		}
		sorted = sorted[n:]
	}
	return strings.Join(out, ",")
}

const noIndex = -1

// indexOf returns the completion index of a pod, or noIndex.
func indexOf(p *corev1.Pod) int {
	i, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || i < 0 {
		return noIndex
	}
	return i
}

// indexVariable is the environment variable with the index of a pod.
const indexVariable = "JOB_COMPLETION_INDEX"

// setIndex gives a new Pod a completion index of the Job.
func setIndex(p *corev1.Pod, job *batchv1.Job, index int) {
	text := strconv.Itoa(index)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[batchv1.JobCompletionIndexAnnotation] = text
	setLabel(p, batchv1.JobCompletionIndexAnnotation, text)
	p.Spec.Hostname = job.Name + "-" + text
	const longest = 58 // the length of a prefix of generated names
	end := "-" + text + "-"
	p.GenerateName = prefix(job.Name, longest-len(end)) + end
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == indexVariable }) {
				c.Env = append(c.Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"},
				}})
			}
		}
	}
}

// failuresOf returns how often the index of a Pod had failed before: the failures that count, and all.
func failuresOf(p *corev1.Pod) (counted, all int) {
	read := func(key string) int {
		n, err := strconv.ParseInt(p.Annotations[key], 10, 32)
		if err != nil || n < 0 {
			return 0
		}
		return int(n)
	}
	counted = read(batchv1.JobIndexFailureCountAnnotation)
	return counted, counted + read(batchv1.JobIndexIgnoredFailureCountAnnotation)
}
