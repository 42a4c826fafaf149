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

// controllerVecs are what controllers push. Each has a label controller; those of the queue have
// the same value under name, as there a queue is named after its controller.
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
			"Reconciles that ended in an error that is not tried again.", byController),
		panics: counter(r, "controller_runtime_reconcile_panics_total",
			"Reconciles that panicked.", byController),
		timeouts: counter(r, "controller_runtime_reconcile_timeouts_total",
			"Reconciles whose time was over before they returned.", byController),
		problems: counter(r, "flyball_problems_total",
			"Failures of code beside the reconciler: a predicate, a handler, a source, an option or a hook.", byController, "part"),
		overdue: counter(r, "flyball_overdue_calls_total",
			"Calls that had not returned after a second: of a predicate or a handler of a source of a controller; and of an index function, a transform or a subscription, which have no controller, by kind and name.", byController, "source", "part"),
		took: histogram(r, "controller_runtime_reconcile_time_seconds",
			"Time that a reconcile took.", reconcileBuckets, byController),
		waited: histogram(r, "workqueue_queue_duration_seconds",
			"Time from when a request was due until a worker took it; of one that was added while it was worked on, the rest of that work is in it.", decades, byName, byController),
		worked: histogram(r, "workqueue_work_duration_seconds",
			"Time that a worker had a request for.", decades, byName, byController),
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

// parts are what a controller.Problem may be about.
var parts = []string{"predicate", "handler", "source", "priority", "logger", "hook"}

const otherPart = "other"

// Controller returns the hooks by which a controller of this name is counted, and shows its series
// with zeros from now on. workers is how many reconciles it may run at once. Once the controller is
// removed, see AddController, what the hooks are told is lost.
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

// CacheProblem counts what a cache reports, see [cache.Options].OnProblem: calls that take long.
func (m *Metrics) CacheProblem(p informer.Problem) {
	if e, ok := errors.AsType[*informer.OverdueError](p.Err); ok {
		source := p.Kind.Kind
		if e.Name != "" {
			source += ": " + e.Name
		}
		m.controllers.overdue.WithLabelValues("", source, e.Part).Inc()
	}
}

// observer is that of a queue.
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
