package metrics

import (
	"cmp"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
)

const (
	byController = "controller"
	byName       = "name"
)

// controllerVecs are the metrics of controllers, which push them. Each has a label controller. The
// queue's metrics have the same value in the label name, since a queue has the name of its
// controller.
type controllerVecs struct {
	total, errors, terminal, panics, timeouts, problems, overdue *prometheus.CounterVec
	took, waited, worked                                         *prometheus.HistogramVec
	workers                                                      *prometheus.GaugeVec
}

func newControllerVecs(r prometheus.Registerer) controllerVecs {
	return controllerVecs{
		total: counter(r, "controller_runtime_reconcile_total",
			"Reconciles that have ended, by result: success, requeue_after, requeue or error.", byController, "result"),
		errors: counter(r, "controller_runtime_reconcile_errors_total",
			"Reconciles that ended in an error or a panic.", byController),
		terminal: counter(r, "controller_runtime_terminal_reconcile_errors_total",
			"Reconciles that ended in an error without a retry.", byController),
		panics: counter(r, "controller_runtime_reconcile_panics_total",
			"Reconciles that panicked.", byController),
		timeouts: counter(r, "controller_runtime_reconcile_timeouts_total",
			"Reconciles that exceeded their timeout.", byController),
		problems: counter(r, "flyball_problems_total",
			"Failures of user code other than the reconciler: a predicate, a handler, a source, an option or a hook.", byController, "part"),
		overdue: counter(r, "flyball_overdue_calls_total",
			"Calls that took longer than a second. Those of a predicate or a handler have a controller and a source; those of an index function, a transform or a subscription have a kind and a name.", byController, "source", "part"),
		took: histogram(r, "controller_runtime_reconcile_time_seconds",
			"Duration of a reconcile.", reconcileBuckets, byController),
		waited: histogram(r, "workqueue_queue_duration_seconds",
			"Time from when a request was due until a worker took it. For a request added during its own reconcile, the rest of that reconcile is included.", decades, byName, byController),
		worked: histogram(r, "workqueue_work_duration_seconds",
			"Time from when a worker took a request until it was done.", decades, byName, byController),
		workers: gauge(r, "controller_runtime_max_concurrent_reconciles",
			"Reconciles that may run at once.", byController),
	}
}

func (v *controllerVecs) forget(name string) {
	for _, vec := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		v.total, v.errors, v.terminal, v.panics, v.timeouts, v.problems, v.overdue, v.took, v.waited, v.worked, v.workers,
	} {
		vec.DeletePartialMatch(prometheus.Labels{byController: name})
	}
}

// parts are the values of controller.Problem.Part.
var parts = []string{"predicate", "handler", "source", "priority", "logger", "hook"}

const otherPart = "other"

// Controller returns the hooks that count a controller with this name, and adds its series with
// zeros. workers is the most concurrent reconciles. After the controller is removed, see
// [Metrics.AddController], the hooks have no effect.
func (m *Metrics) Controller(name string, workers int) controller.Hooks {
	name = label(name)
	v := &m.controllers
	v.workers.WithLabelValues(name).Set(float64(workers))
	results := map[controller.Outcome]prometheus.Counter{
		controller.Success: v.total.WithLabelValues(name, "success"), controller.Failed: v.total.WithLabelValues(name, "error"), controller.Terminal: v.total.WithLabelValues(name, "error"),
		controller.Requeue: v.total.WithLabelValues(name, "requeue"), controller.RequeueAfter: v.total.WithLabelValues(name, "requeue_after"),
	}
	problems := map[string]prometheus.Counter{}
	for _, part := range append(parts, otherPart) {
		problems[part] = v.problems.WithLabelValues(name, part)
	}
	failed, terminal := v.errors.WithLabelValues(name), v.terminal.WithLabelValues(name)
	panics, timeouts := v.panics.WithLabelValues(name), v.timeouts.WithLabelValues(name)
	took := v.took.WithLabelValues(name)
	waited, worked := v.waited.WithLabelValues(name, name), v.worked.WithLabelValues(name, name)

	return controller.Hooks{
		Reconciled: func(r controller.Reconciled) {
			if c := results[r.Outcome]; c != nil {
				c.Inc()
			}
			took.Observe(r.Took.Seconds())
			switch r.Outcome {
			case controller.Terminal:
				terminal.Inc()
				failed.Inc()
			case controller.Failed:
				failed.Inc()
			}
			if r.Panicked {
				panics.Inc()
			}
			if r.TimedOut {
				timeouts.Inc()
			}
		},
		Problem: func(p controller.Problem) {
			if _, ok := errors.AsType[*controller.OverdueError](p.Err); ok {
				v.overdue.WithLabelValues(name, p.Source, p.Part).Inc()
				return
			}
			c := problems[p.Part]
			c = cmp.Or(c, problems[otherPart])
			c.Inc()
		},
		Waited: func(d time.Duration) { waited.Observe(d.Seconds()) },
		Worked: func(d time.Duration) { worked.Observe(d.Seconds()) },
	}
}

// CacheProblem counts the problems that a cache reports, see [cache.Options].OnProblem. It counts
// calls that take long.
func (m *Metrics) CacheProblem(p informer.Problem) {
	if e, ok := errors.AsType[*informer.OverdueError](p.Err); ok {
		source := p.Kind.Kind
		if e.Name != "" {
			source += ": " + e.Name
		}
		m.controllers.overdue.WithLabelValues("", source, e.Part).Inc()
	}
}
