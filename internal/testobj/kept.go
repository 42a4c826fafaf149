package testobj

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/tier"
)

// Large returns ConfigMaps of about 6 kB, each with texts of its own everywhere.
func Large(namespace string, n int) (all []*corev1.ConfigMap) {
	for i := range n {
		own := fmt.Sprintf("%d%s", i, strings.Repeat("x", i%40))
		all = append(all, ConfigMap(namespace+"/"+own, Labels("app="+own), Data("key-"+own, "value-"+own), Data("large", strings.Repeat(own, 6000/len(own)))))
	}
	return all
}

// maxKept is what a kept string may cost beside itself, in bytes.
const maxKept = 200

// CheckKept checks that a program that keeps one short string of each of n objects keeps little else. read reads the
// objects, and keeps a string of each. It is for the audit.
func CheckKept(t testing.TB, what string, n int, read func(keep func(string))) {
	t.Helper()
	tier.Audit(t, "measures the heap")
	kept := make([]string, 0, 2*n)
	keep := func(s string) { kept = append(kept, s) }
	read(keep) // caches and pools are full then
	if len(kept) != n {
		t.Fatalf("%s: %d strings of %d objects", what, len(kept), n)
	}
	each := 0
	for range 5 { // what other goroutines allocate meanwhile is in one of them, and not in all
		kept = make([]string, 0, 2*n)
		before := heap()
		read(keep)
		held, length := heap()-before, 0
		for _, s := range kept {
			length += len(s)
		}
		runtime.KeepAlive(kept)
		if each = (held - length) / n; each <= maxKept {
			return
		}
	}
	t.Errorf("%s: a kept string costs %d bytes, want at most %d", what, each, maxKept)
}

func heap() int {
	runtime.GC()
	runtime.GC() // empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
