package metrics

import (
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
	is := prometheus.Labels{byController: name}
	for _, c := range []*prometheus.CounterVec{v.total, v.errors, v.terminal, v.panics, v.timeouts, v.problems, v.overdue} {
		c.DeletePartialMatch(is)
	}
	for _, h := range []*prometheus.HistogramVec{v.took, v.waited, v.worked} {
		h.DeletePartialMatch(is)
	}
	v.workers.DeletePartialMatch(is)
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
	results := map[controller.Outcome]prometheus.Counter{}
	for outcome, result := range map[controller.Outcome]string{
		controller.Success: "success", controller.RequeueAfter: "requeue_after", controller.Requeue: "requeue",
		controller.Failed: "error", controller.Terminal: "error",
	} {
		results[outcome] = v.total.WithLabelValues(name, result)
	}
	problems := map[string]prometheus.Counter{}
	for _, part := range append(parts, otherPart) {
		problems[part] = v.problems.WithLabelValues(name, part)
	}
	failed, terminal := v.errors.WithLabelValues(name), v.terminal.WithLabelValues(name)
	panics, timeouts := v.panics.WithLabelValues(name), v.timeouts.WithLabelValues(name)
	took := v.took.WithLabelValues(name)

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
			if c == nil {
				c = problems[otherPart]
			}
			c.Inc()
		},
		Queue: observer{waited: v.waited.WithLabelValues(name, name), worked: v.worked.WithLabelValues(name, name)},
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

// observer is a workqueue.Observer.
type observer struct{ waited, worked prometheus.Observer }

// ObserveWait implements workqueue.Observer.
func (o observer) ObserveWait(d time.Duration) { o.waited.Observe(d.Seconds()) }

// ObserveWork implements workqueue.Observer.
func (o observer) ObserveWork(d time.Duration) { o.worked.Observe(d.Seconds()) }

// AddController reads the state, the queue and the failing sources of c at each scrape. Calling remove
// ends that, and drops all series of the name, those of the hooks included. The error is a *TakenError.
func (m *Metrics) AddController(c controller.Interface) (remove func(), err error) {
	name := label(c.Name())
	end, err := add(m.pulled, m.pulled.controllers, "controller", name, c)
	if err != nil {
		return nil, err
	}
	return func() {
		if end() {
			m.controllers.forget(name)
			m.pulled.forget(name)
		}
	}, nil
}
