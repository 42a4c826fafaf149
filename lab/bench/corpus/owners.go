package corpus

import (
	"math/rand/v2"
	"sort"
)

// largest is the number of Pods of the largest owner.
const largest = 1000

// ownerSizes returns the sizes of n owners in an order by chance. They have a Zipf distribution with
// exponent 2, from 1 to largest: 61 % of the owners have one Pod, 94 % at most ten, and those with
// more than 100 have a third of all Pods. The mean is 4.6.
//
// The form is that of published traces: the jobs, tasks and instances of Alibaba's cluster-trace-v2018
// are approximately Zipf distributed (Jiang et al., Characterizing Co-located Workloads in Alibaba
// Cloud Datacenters, IEEE Transactions on Cloud Computing, 2020), and the workload of Borg is
// "extremely heavy-tailed" (Tirmazi et al., Borg: the Next Generation, EuroSys 2020). The exponent
// gives the parts of the load test of Kubernetes, which has half of the Pods in groups of 5, a
// quarter in groups of 30 and a quarter in groups of 250 (kubernetes/perf-tests,
// clusterloader2/testing/load/config.yaml).
func ownerSizes(n int, r *rand.Rand) []int {
	below := make([]float64, largest) // P(size ≤ k+1), times a constant
	sum := 0.
	for k := range below {
		sum += 1 / float64((k+1)*(k+1))
		below[k] = sum
	}
	sizes := make([]int, n)
	for i := range sizes { // the quantiles, so that small corpora have the same distribution
		at := sum * (float64(i) + 0.5) / float64(n)
		sizes[i] = 1 + sort.SearchFloat64s(below, at)
	}
	r.Shuffle(n, func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

func total(sizes []int) (sum int) {
	for _, n := range sizes {
		sum += n
	}
	return sum
}
