package managerload

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges returns metrics of these names, of two managers' controllers each.
func gauges(values map[string]float64) *prometheus.Registry {
	r := prometheus.NewRegistry()
	for name, value := range values {
		for _, controller := range []string{"a", "b"} {
			if g := (prometheus.Opts{Name: name, ConstLabels: prometheus.Labels{"controller": controller}}); name == "workqueue_adds_total" {
				c := prometheus.NewCounter(prometheus.CounterOpts(g))
				c.Add(value)
				r.MustRegister(c)
			} else {
				c := prometheus.NewGauge(prometheus.GaugeOpts(g))
				c.Set(value)
				r.MustRegister(c)
			}
		}
	}
	return r
}

// Each of the metrics makes a manager busy, alone.
func TestOf(t *testing.T) {
	all := map[string]float64{"workqueue_adds_total": 3, "flyball_workqueue_delayed": 2, "flyball_controllers": 1}
	for _, name := range busy {
		all[name] = 0
	}
	if l, err := Of(gauges(all)); err != nil || l != (Load{Adds: 6, Delayed: 4}) {
		t.Errorf("%+v, %v", l, err)
	}
	for _, name := range busy {
		all[name] = 0.5
		if l, err := Of(gauges(all)); err != nil || !l.Busy {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		all[name] = 0
	}
}

// The metrics have these names: they are in the documentation of all metrics.
func TestNames(t *testing.T) {
	doc, err := os.ReadFile("../../docs/operations/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"workqueue_adds_total", "flyball_workqueue_delayed"}, busy...) {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/operations/README.md has no %s", name)
		}
	}
}
