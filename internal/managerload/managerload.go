// Package managerload reads from the metrics of a manager what it has to do.
package managerload

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Load is what a manager has to do.
type Load struct {
	Busy    bool    // something is read, queued or reconciled now
	Adds    float64 // requests that were queued so far
	Delayed int     // requests that are queued for later
}

// busy are the metrics that are above zero while a manager has something to do.
var busy = []string{"workqueue_depth", "workqueue_longest_running_processor_seconds", "flyball_watch_backlog",
	"flyball_handler_backlog", "flyball_source_backlog", "flyball_events_waiting"}

// Of returns the load of the manager with these metrics.
func Of(figures prometheus.Gatherer) (Load, error) {
	var l Load
	families, err := figures.Gather()
	for _, f := range families {
		for _, figure := range f.GetMetric() {
			switch name, value := f.GetName(), figure.GetGauge().GetValue(); {
			case name == "workqueue_adds_total":
				l.Adds += figure.GetCounter().GetValue()
			case name == "flyball_workqueue_delayed":
				l.Delayed += int(value)
			case value > 0 && slices.Contains(busy, name):
				l.Busy = true
			}
		}
	}
	return l, err
}
