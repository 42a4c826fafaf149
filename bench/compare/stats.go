package main

import (
	"runtime/metrics"
	"slices"
)

// collector is the CPU that the garbage collector has taken, in seconds, and how many objects have
// been allocated.
func collector() (cpu float64, allocs uint64) {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(samples)
	return samples[0].Value.Float64(), samples[1].Value.Uint64()
}

// middle is the median of all by what f says of each.
func middle[T any](all []T, f func(T) float64) T {
	slices.SortFunc(all, func(a, b T) int {
		switch x, y := f(a), f(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return all[len(all)/2]
}

// quantile of sorted numbers.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
