package metrics_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/ops/metrics"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
	"github.com/flyball-io/flyball/webhook"
	"github.com/flyball-io/flyball/webhook/convert"
	"github.com/flyball-io/flyball/workqueue"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

func newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Options{WithoutRuntime: true, Logger: slog.New(slog.DiscardHandler)})
}

// working is a controller with fixed answers.
type working struct {
	controller.Interface
	name  string
	phase controller.Phase
	queue workqueue.Stats
}

func (w *working) Name() string                { return w.name }
func (w *working) State() controller.State     { return controller.State{Phase: w.phase} }
func (w *working) QueueStats() workqueue.Stats { return w.queue }

func (w *working) QueueDepths() []workqueue.Depth { return nil }

func (w *working) Reconciles() controller.Reconciles { return controller.Reconciles{} }

func (w *working) SourceFailures() []controller.SourceFailure { return nil }

// prioritised has requests of several priorities in its queue, and sources that fail.
type prioritised struct {
	working
	depths   []workqueue.Depth
	failures []controller.SourceFailure
}

func (p *prioritised) QueueDepths() []workqueue.Depth { return p.depths }

func (p *prioritised) SourceFailures() []controller.SourceFailure { return p.failures }

func certificate(s cert.Stats) func() cert.Stats { return func() cert.Stats { return s } }

func served() serve.Stats {
	return serve.Stats{Open: 1, Requests: 5, Panics: 1, Timeouts: 2, Refused: 3}
}

func watchOf(kind, group string, objects int) cache.Watch {
	return cache.Watch{
		Kind: informer.Kind{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}},
		State: informer.State{Synced: true, Objects: objects, Rejected: 1, Watch: reflector.State{
			Phase: reflector.Synced, LastEvent: time.Now(),
			Relists:  map[string]int{"first": 1, "list expired": 2},
			Restarts: map[string]int{"ended": 7, "silent": 1},
		}},
		Figures: informer.Figures{
			Store: store.Stats{Objects: objects, Bytes: int64(100 * objects), Held: int64(10 * objects), OffHeap: int64(9 * objects), Templates: 2}, Queued: 3, Coalesced: 4,
			Handlers: informer.Stats{Pending: 5, Oldest: time.Second, Merged: 6, Panics: 1},
			Budget:   informer.BudgetState{Bytes: 70, Held: int64(10 * objects), Over: objects > 7},
			Audit:    informer.AuditStats{Agreed: 4, Repairs: 1, Void: 2, Failed: 3, Lost: 9},
		},
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// everything returns metrics in which each series occurs at least once.
func everything() *metrics.Metrics {
	m := newMetrics()
	h := m.Controller("order", 2)
	c := &prioritised{
		working: working{name: "order", phase: controller.Working, queue: workqueue.Stats{Adds: 10, Retries: 2, Aged: 1, Depth: 3, Delayed: 4,
			InFlight: 1, OldestWaiting: time.Second, LongestRunning: 2 * time.Second, Unfinished: 3 * time.Second}},
		depths:   []workqueue.Depth{{Priority: 0, Keys: 2}, {Priority: -100, Keys: 1}},
		failures: []controller.SourceFailure{{Source: "For(Order)", Waiting: []string{"b", "c"}}, {Source: "Watches(Pod)", Objects: 2}, {Source: "Watches(Pod)", Objects: 1}},
	}
	must(m.AddController(c))
	h.Reconciled(controller.Reconciled{Outcome: controller.Success, Took: time.Millisecond})
	h.Reconciled(controller.Reconciled{Outcome: controller.Requeue, Took: time.Millisecond})
	h.Reconciled(controller.Reconciled{Outcome: controller.RequeueAfter, Took: time.Millisecond})
	h.Reconciled(controller.Reconciled{Outcome: controller.Failed, Took: time.Millisecond, Panicked: true, Err: errors.New("x")})
	h.Reconciled(controller.Reconciled{Outcome: controller.Failed, Took: time.Minute, TimedOut: true, Err: errors.New("x")})
	h.Reconciled(controller.Reconciled{Outcome: controller.Terminal, Took: time.Millisecond, Err: errors.New("x")})
	h.Problem(controller.Problem{Part: "predicate"})
	h.Problem(controller.Problem{Part: "from the future"})
	h.Waited(time.Millisecond)
	h.Worked(time.Second)

	done := m.ClientHook("10.0.0.1:443")
	done(client.Done{Call: client.Call{Verb: "list"}, Code: 200, Duration: time.Millisecond})
	done(client.Done{Call: client.Call{Verb: "apply"}, Code: 409})
	done(client.Done{Call: client.Call{Verb: "create"}, Err: io.EOF})
	m.LiveRead(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})

	m.AddCache(func() []cache.Watch {
		return []cache.Watch{watchOf("Pod", "", 10), watchOf("Pod", "", 5), watchOf("Deployment", "apps", 1)}
	})
	must(m.AddLeader("shop", func() bool { return true }))
	must(m.AddCertificate("webhook", certificate(cert.Stats{Reads: 3, Errors: 1, Loads: 2, NotAfter: time.Unix(2_000_000_000, 0)})))
	m.AddEvents(func() event.Stats { return event.Stats{Recorded: 5, Sent: 3, Unsent: 1, Dropped: 1} })
	must(m.AddServer("metrics", served))

	m.Webhook("/validate-shop-example-com-v1-order")
	w := m.Webhooks()
	w.Started("/convert")
	w.Done(webhook.Call{Webhook: convert.Path, Code: 500, Duration: time.Millisecond, Panic: &run.PanicError{}})
	w.Started("/mutate-shop-example-com-v1-order")
	w.Done(webhook.Call{Webhook: "/mutate-shop-example-com-v1-order", Code: 200, Denied: true, Panic: &run.PanicError{}})
	w.Lost("/convert", 1)
	return m
}

// figures returns all series as text, "name{labels} value", without the buckets of histograms.
func figures(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName() + labels(m)
			switch {
			case m.Gauge != nil:
				out[name] = m.Gauge.GetValue()
			case m.Counter != nil:
				out[name] = m.Counter.GetValue()
			default:
				out[name] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return out
}

func labels(m *dto.Metric) string {
	var all []string
	for _, l := range m.GetLabel() {
		all = append(all, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// Names and labels are a promise, since dashboards depend on them. testdata/series.txt has them
// all.
func TestSeriesAreAsRecorded(t *testing.T) {
	var lines []string
	for name, v := range figures(t, everything().Gatherer()) {
		if strings.HasPrefix(name, "flyball_watch_lag_seconds") || strings.HasPrefix(name, "controller_runtime_reconcile_time") {
			lines = append(lines, name)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %v", name, v))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", "series.txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the series have changed (UPDATE_GOLDEN=1 writes them down):\n%s", difference(string(want), got))
	}
}

func difference(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range w {
		if !slices.Contains(g, l) {
			fmt.Fprintf(&b, "-%s\n", l)
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) {
			fmt.Fprintf(&b, "+%s\n", l)
		}
	}
	return b.String()
}

// Metrics with names from controller-runtime or client-go have the same labels as there.
func TestInheritedMetricsHaveThePeersLabels(t *testing.T) {
	want := map[string]string{
		"controller_runtime_reconcile_total":                 "controller result",
		"controller_runtime_reconcile_errors_total":          "controller",
		"controller_runtime_terminal_reconcile_errors_total": "controller",
		"controller_runtime_reconcile_panics_total":          "controller",
		"controller_runtime_reconcile_timeouts_total":        "controller",
		"controller_runtime_reconcile_time_seconds":          "controller",
		"controller_runtime_max_concurrent_reconciles":       "controller",
		"controller_runtime_active_workers":                  "controller",
		"controller_runtime_webhook_requests_total":          "code webhook",
		"controller_runtime_webhook_latency_seconds":         "webhook",
		"controller_runtime_webhook_requests_in_flight":      "webhook",
		"controller_runtime_webhook_panics_total":            "",
		"controller_runtime_conversion_webhook_panics_total": "",
		"workqueue_depth":                             "controller name priority",
		"workqueue_adds_total":                        "controller name",
		"workqueue_queue_duration_seconds":            "controller name",
		"workqueue_work_duration_seconds":             "controller name",
		"workqueue_unfinished_work_seconds":           "controller name",
		"workqueue_longest_running_processor_seconds": "controller name",
		"workqueue_retries_total":                     "controller name",
		"rest_client_requests_total":                  "code host method",
		"rest_client_request_duration_seconds":        "host verb",
		"leader_election_master_status":               "name",
		"certwatcher_read_certificate_total":          "",
		"certwatcher_read_certificate_errors_total":   "",
	}
	families := must(everything().Gatherer().Gather())
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "flyball_") {
			continue
		}
		var names []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		if got := strings.Join(names, " "); got != want[f.GetName()] {
			t.Errorf("%s has labels %q, want %q", f.GetName(), got, want[f.GetName()])
		}
		delete(want, f.GetName())
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}

func TestMetricsPassTheLinter(t *testing.T) {
	for _, problem := range must(testutil.GatherAndLint(everything().Gatherer())) {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	// The metrics of the runtime do not collide, either.
	if _, err := metrics.New(metrics.Options{}).Gatherer().Gather(); err != nil {
		t.Error(err)
	}
}

// The number of series does not grow with values from outside.
func TestSeriesAreBounded(t *testing.T) {
	m := newMetrics()
	h := m.Controller("order", 1)
	must(m.AddController(&working{name: "order"}))
	done := m.ClientHook("host")
	w := m.Webhooks()
	watches := []cache.Watch{}
	m.AddCache(func() []cache.Watch { return watches })
	feed := func(n int) int {
		for i := range n {
			h.Reconciled(controller.Reconciled{Request: i, Outcome: controller.Outcome(i % 256), Err: fmt.Errorf("%d", i)})
			h.Problem(controller.Problem{Part: fmt.Sprint(i), Source: fmt.Sprint(i)})
			done(client.Done{Call: client.Call{Verb: fmt.Sprint("verb", i), Kind: fmt.Sprint(i)}, Code: i})
			m.LiveRead(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: fmt.Sprint("Kind", i)})
			w.Started("/w")
			w.Done(webhook.Call{Webhook: "/w", Code: i})
			x := watchOf("Pod", "", i)
			x.Selection = client.Selection{Namespace: fmt.Sprint("ns", i)}
			x.State.Watch.Relists = map[string]int{string(fmt.Sprint("reason", i)): 1}
			watches = append(watches, x)
		}
		return len(figures(t, m.Gatherer()))
	}
	first := feed(2000)
	if second := feed(2000); second != first || first > 600 {
		t.Errorf("%d series after 2000 of everything, %d after 4000", first, second)
	}
}

// The depth by priority has few labels, whatever the priorities are, and adds up to the total.
func TestDepthsByPriorityAddUp(t *testing.T) {
	m := newMetrics()
	c := &prioritised{working: working{name: "order"}}
	remove := must(m.AddController(c))
	look := func() (by map[string]float64, sum float64) {
		by = map[string]float64{}
		for name, v := range figures(t, m.Gatherer()) {
			if _, p, ok := strings.Cut(name, `workqueue_depth{controller="order",name="order",priority="`); ok {
				by[strings.TrimSuffix(p, `"}`)] = v
				sum += v
			}
		}
		return by, sum
	}
	if by, _ := look(); len(by) != 1 || by["0"] != 0 {
		t.Errorf("empty: %v", by)
	}
	c.depths = []workqueue.Depth{{Priority: 10, Keys: 3}, {Priority: -100, Keys: 4}}
	if by, _ := look(); len(by) != 3 || by["10"] != 3 || by["-100"] != 4 || by["0"] != 0 {
		t.Errorf("two: %v", by)
	}
	c.depths = nil
	if by, sum := look(); len(by) != 3 || sum != 0 {
		t.Errorf("empty again: %v", by)
	}
	for i := range 1000 {
		c.depths = append(c.depths, workqueue.Depth{Priority: 1000 - i, Keys: 2})
	}
	if by, sum := look(); len(by) != 17 || sum != 2000 || by["10"] != 2 || by["0"] != 0 || by["other"] != 2*(1000-14) {
		t.Errorf("a thousand: %v, %v in all", by, sum)
	}
	remove()
	must(m.AddController(&working{name: "order"}))
	if by, _ := look(); len(by) != 1 || by["0"] != 0 {
		t.Errorf("another of the same name: %v", by)
	}
}

// A removed part has no series, and late reports of it have no effect.
func TestRemovedPartsHaveNoSeries(t *testing.T) {
	m := newMetrics()
	empty := len(figures(t, m.Gatherer()))
	h := m.Controller("order", 2)
	removes := []func(){
		must(m.AddController(&working{name: "order"})),
		must(m.AddLeader("shop", func() bool { return false })),
		must(m.AddCertificate("webhook", certificate(cert.Stats{}))),
		must(m.AddServer("metrics", served)),
		m.AddCache(func() []cache.Watch { return []cache.Watch{watchOf("Pod", "", 1)} }),
		m.AddEvents(func() event.Stats { return event.Stats{} }),
	}
	for _, again := range []func() error{
		func() error { _, err := m.AddController(&working{name: "order"}); return err },
		func() error { _, err := m.AddLeader("shop", nil); return err },
		func() error { _, err := m.AddCertificate("webhook", nil); return err },
		func() error { _, err := m.AddServer("metrics", served); return err },
	} {
		if err := again(); !errors.As(err, new(*metrics.TakenError)) {
			t.Errorf("twice: %v", err)
		}
	}
	if got := len(figures(t, m.Gatherer())); got <= empty+10 {
		t.Errorf("%d series", got)
	}
	for range 2 {
		for _, remove := range removes {
			remove()
		}
	}
	h.Reconciled(controller.Reconciled{Outcome: controller.Failed})
	h.Problem(controller.Problem{Part: "source"})
	h.Waited(1)
	if got := figures(t, m.Gatherer()); len(got) != empty {
		t.Errorf("%d series stay: %v", len(got)-empty, got)
	}
	// The name is free, and begins at zero.
	again := m.Controller("order", 1)
	remove := must(m.AddController(&working{name: "order"}))
	removes[0]() // the first one's remove has no effect on the second
	again.Reconciled(controller.Reconciled{Outcome: controller.Success})
	if got := figures(t, m.Gatherer())[`controller_runtime_reconcile_total{controller="order",result="success"}`]; got != 1 {
		t.Errorf("the second one of the name has %v", got)
	}
	remove()
}

// The counters do not fall when a queue or a watch begins again at zero.
func TestCountersNeverFall(t *testing.T) {
	m := newMetrics()
	c := &working{name: "order"}
	must(m.AddController(c))
	watches := []cache.Watch{watchOf("Pod", "", 1), watchOf("Pod", "", 1)}
	m.AddCache(func() []cache.Watch { return watches })
	look := func(adds, restarts float64) {
		t.Helper()
		got := figures(t, m.Gatherer())
		if a, r := got[`workqueue_adds_total{controller="order",name="order"}`], got[`flyball_watch_restarts_total{kind="Pod",reason="ended"}`]; a != adds || r != restarts {
			t.Errorf("%v adds, %v restarts, want %v, %v", a, r, adds, restarts)
		}
	}
	c.queue.Adds = 5
	look(5, 14)
	c.queue.Adds = 8
	watches = watches[:1]
	look(8, 14)
	c.queue.Adds = 0
	watches = append(watches, watches[0])
	look(8, 21)
	c.queue.Adds = 2
	look(10, 21)
}

// A source that panics is left out and logged; all others are there.
func TestPanickingSourceIsLeftOut(t *testing.T) {
	var text strings.Builder
	m := metrics.New(metrics.Options{WithoutRuntime: true, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	must(m.AddLeader("shop", func() bool { panic("no lease") }))
	must(m.AddController(&working{name: "order"}))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `workqueue_adds_total{controller="order",name="order"} 0`) || strings.Contains(w.Body.String(), "leader_election") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(text.String(), "no lease") {
		t.Errorf("logged: %s", text.String())
	}
}

// An invalid name breaks no other series.
func TestInvalidNamesBreakNoSeries(t *testing.T) {
	m := newMetrics()
	h := m.Controller("a\xff", 1)
	remove := must(m.AddController(&working{name: "a\xff"}))
	h.Reconciled(controller.Reconciled{Outcome: controller.Success})
	must(m.AddLeader("\xff", func() bool { return true }))
	m.ClientHook("\xff")(client.Done{Call: client.Call{Verb: "get"}})
	m.LiveRead(schema.GroupVersionKind{Kind: "\xff"})
	w := m.Webhooks()
	w.Started("\xff")
	w.Done(webhook.Call{Webhook: "\xff", Code: 200})
	w.Lost("\xff", 1)
	m.Webhook("\xff")
	figures(t, m.Gatherer())
	remove()
	for name := range figures(t, m.Gatherer()) {
		if strings.Contains(name, `controller="`) {
			t.Errorf("%s stays", name)
		}
	}
}

func TestTwoMetricsAreIndependent(t *testing.T) {
	a, b := newMetrics(), newMetrics()
	mine := prometheus.NewCounter(prometheus.CounterOpts{Name: "shop_orders_total", Help: "Orders."})
	if err := a.Registerer().Register(mine); err != nil {
		t.Fatal(err)
	}
	if err := b.Registerer().Register(mine); err != nil {
		t.Fatal(err)
	}
	if err := a.Registerer().Register(prometheus.NewCounter(prometheus.CounterOpts{Name: "flyball_problems_total", Help: "x"})); err == nil {
		t.Error("a name of ours was given away")
	}
	mine.Inc()
	if got := figures(t, b.Gatherer())["shop_orders_total{}"]; got != 1 {
		t.Errorf("got %v", got)
	}
	if families := must(prometheus.DefaultGatherer.Gather()); slices.ContainsFunc(families, func(f *dto.MetricFamily) bool {
		return strings.HasPrefix(f.GetName(), "flyball_") || strings.HasPrefix(f.GetName(), "controller_runtime_") || f.GetName() == "shop_orders_total"
	}) {
		t.Error("something is in the global registry")
	}
}

// TestOverdueCallsAreCounted: calls that take long are counted under one name; those of a cache have no
// controller.
func TestOverdueCallsAreCounted(t *testing.T) {
	m := newMetrics()
	m.Controller("order", 1).Problem(controller.Problem{Source: "Watches(Pod)", Part: "handler", Err: &controller.OverdueError{Part: "handler"}})
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	m.CacheProblem(informer.Problem{Kind: pods, Err: &informer.OverdueError{Part: "index", Name: "spec.nodeName"}})
	m.CacheProblem(informer.Problem{Kind: pods, Err: &informer.OverdueError{Part: "transform"}})
	m.CacheProblem(informer.Problem{Kind: pods, Err: errors.New("something else")})
	got := figures(t, m.Gatherer())
	for _, series := range []string{
		`{controller="order",part="handler",source="Watches(Pod)"}`,
		`{controller="",part="index",source="Pod: spec.nodeName"}`,
		`{controller="",part="transform",source="Pod"}`,
	} {
		if got["flyball_overdue_calls_total"+series] != 1 {
			t.Errorf("%s is not counted: %v", series, got)
		}
	}
}
