package guides

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	_ "sigs.k8s.io/controller-runtime/pkg/certwatcher"
	_ "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	_ "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	_ "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// fqName is the name in the text of a descriptor.
var fqName = regexp.MustCompile(`fqName: "([^"]+)"`)

// served are the metrics that a program of controller-runtime has, those that it has to ask for included.
// Those of the Go runtime and of the process are left out.
func served(t *testing.T) (names []string) {
	t.Helper()
	metrics.RegisterRESTClientMetrics(metrics.MetricRequestLatency, metrics.MetricDNSResolutionLatency, metrics.MetricRequestSize,
		metrics.MetricResponseSize, metrics.MetricRateLimiterLatency, metrics.MetricRequestRetry)
	all, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatalf("the registry is a %T", metrics.Registry)
	}
	described := make(chan *prometheus.Desc)
	go func() { defer close(described); all.Describe(described) }()
	for d := range described {
		m := fqName.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("no name in %s", d)
		}
		if !strings.HasPrefix(m[1], "go_") && !strings.HasPrefix(m[1], "process_") {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// metricRow is a row of a table of metrics: a name of the peer and one of Flyball, or "–".
var metricRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (?:`([a-z_]+)`|–) \\| (.+) \\|$")

// compareMetrics returns what is wrong with the tables of metrics: names of the peer that are missing or
// stale, and names that Flyball does not have.
func compareMetrics(guide string, peer []string, ours map[string]bool) (problems []string) {
	var named []string
	for _, m := range metricRow.FindAllStringSubmatch(guide, -1) {
		named = append(named, m[1])
		if !slices.Contains(peer, m[1]) {
			problems = append(problems, "the peer has no "+m[1])
		}
		if m[2] != "" && !ours[m[2]] {
			problems = append(problems, "Flyball has no "+m[2])
		}
	}
	for _, name := range peer {
		if !slices.Contains(named, name) {
			problems = append(problems, name+" has no row")
		}
	}
	return problems
}

// TestEachMetricHasARow compares the tables of metrics with the registry of controller-runtime, and with
// the metrics in the guide to operations, which a test compares with the code.
func TestEachMetricHasARow(t *testing.T) {
	guide, ours := read(t, "migrating/metrics.md"), map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(read(t, "operations/README.md"), -1) {
		ours[m[1]] = true
	}
	_, tested := readAPI(t, "/pkg", "sigs.k8s.io/controller-runtime/pkg/metrics")
	current(t, guide, "controller-runtime", tested)
	peer := served(t)
	for _, problem := range compareMetrics(guide, peer, ours) {
		t.Error(problem)
	}
	for _, m := range regexp.MustCompile("`(flyball_[a-z_]+)`").FindAllStringSubmatch(guide, -1) {
		if !ours[m[1]] {
			t.Errorf("Flyball has no %s", m[1])
		}
	}
	t.Logf("%d metrics of the peer", len(peer))
	for _, name := range peer {
		without := regexp.MustCompile("(?m)^\\| `"+name+"` .*\n").ReplaceAllString(guide, "")
		if !slices.Contains(compareMetrics(without, peer, ours), name+" has no row") {
			t.Errorf("nobody misses %s", name)
		}
	}
	stale := guide + "\n| `no_such_metric` | `nor_this_one` | nothing |\n"
	for _, want := range []string{"the peer has no no_such_metric", "Flyball has no nor_this_one"} {
		if !slices.Contains(compareMetrics(stale, peer, ours), want) {
			t.Errorf("not reported: %s", want)
		}
	}
}
