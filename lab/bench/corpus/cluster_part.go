package corpus

import (
	"fmt"
	"strings"
)

// part is one kind of a cluster, with those changes of the cluster's churn that are of the kind.
type part struct {
	cluster *Cluster
	kind    int
	objects []int // numbers in the cluster
}

// PartOf returns the corpus of one kind of a cluster, by its resource. Kinds that do not change in a
// cluster, such as secrets, have changes of the version only.
func PartOf(c *Cluster, resource string) (Corpus, error) {
	var all []string
	for kind, k := range clusterKinds {
		if all = append(all, k.resource); k.resource != resource {
			continue
		}
		p := &part{cluster: c, kind: kind}
		for i := range c.Len() {
			if c.KindOf(i) == kind {
				p.objects = append(p.objects, i)
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("kind %q: a cluster has %s", resource, strings.Join(all, ", "))
}

// ID implements Corpus.
func (p *part) ID() string { return p.cluster.ID() + "-" + clusterKinds[p.kind].resource }

// Resources implements Corpus.
func (p *part) Resources() []Resource { return p.cluster.Resources()[p.kind : p.kind+1] }

// KindOf implements Corpus.
func (p *part) KindOf(int) int { return 0 }

// Len implements Corpus.
func (p *part) Len() int { return len(p.objects) }

// At implements Corpus.
func (p *part) At(i int) Object {
	o := p.cluster.At(p.objects[i])
	o.SetResourceVersion(fmt.Sprint(FirstVersion + i))
	return o
}

// Churn implements Corpus.
func (p *part) Churn(events int) Churn {
	if p.kind == secretsKind || p.kind == configMapKind {
		return inTurn(p.Len(), events, func(i, _ int) Object { return p.At(i) })
	}
	var steps []int // numbers of the cluster's steps
	seen := 0
	s := p.cluster.simulate(func(all []Step) bool {
		for ; seen < len(all); seen++ {
			if all[seen].Kind == p.kind {
				steps = append(steps, seen)
			}
		}
		return len(steps) >= events
	})
	numbers := map[int]int{} // of objects, in the cluster → here
	for i, number := range p.objects {
		numbers[number] = i
	}
	churn := Churn{Steps: make([]Step, events), Object: func(k int) Object { return s.object(steps[k]) }}
	for k := range churn.Steps {
		step := s.steps[steps[k]]
		number, there := numbers[step.Object]
		if !there {
			number = len(numbers)
			numbers[step.Object] = number
		}
		churn.Steps[k] = Step{Object: number, Deleted: step.Deleted}
	}
	return churn
}
