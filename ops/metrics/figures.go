package metrics

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/workqueue"
)

// desc describes a metric of the collector.
type desc struct {
	*prometheus.Desc
	kind   prometheus.ValueType
	labels int
	fold   func(a, b float64) float64 // joins the values that are written to one series
}

// descs are the descriptions of all metrics of a collector.
var descs []*desc

// sum describes a metric whose values are added up. It is a counter if its name ends in _total.
func sum(name, help string, labels ...string) *desc {
	d := &desc{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, len(labels), func(a, b float64) float64 { return a + b }}
	if strings.HasSuffix(name, "_total") {
		d.kind = prometheus.CounterValue
	}
	descs = append(descs, d)
	return d
}

// greatest describes a metric. Several values of one series are joined by their greatest.
func greatest(name, help string, labels ...string) *desc {
	d := sum(name, help, labels...)
	d.fold = func(a, b float64) float64 { return max(a, b) }
	return d
}

// least describes a metric. Several values of one series are joined by their least.
func least(name, help string, labels ...string) *desc {
	d := sum(name, help, labels...)
	d.fold = func(a, b float64) float64 { return min(a, b) }
	return d
}

const (
	byKind   = "kind"
	byServer = "server"
)

var (
	workingDesc       = sum("flyball_controller_working", "1 while the workers of a controller reconcile, 0 while it syncs, stops or is stopped.", byController)
	failingDesc       = sum("flyball_source_failing_objects", "Objects whose changes wait because the handler of a source fails on them. The handler is retried until it succeeds.", byController, "source")
	sourceBacklogDesc = sum("flyball_source_backlog", "Objects with changes that wait for the handler of a source.", byController, "source")
	waitingWatchDesc  = sum("flyball_source_waiting_watches", "Watches of a source that have not synced: the controller waits for them, or works without them.", byController, "source")
	depthDesc         = sum("workqueue_depth", "Requests that wait for a worker, and those added during their own reconcile. The first 16 priorities of a controller have a label each; all others have the label other.", byName, byController, "priority")
	lagDesc           = greatest("flyball_watch_lag_seconds", "Longest time since a watch of the kind heard from the server. A server without changes sends a bookmark about every minute.", byKind)
	relistsDesc       = sum("flyball_relists_total", "Completed lists after the first one, by reason.", byKind, "reason")
	restartsDesc      = sum("flyball_watch_restarts_total", "Watches that were reopened, by reason.", byKind, "reason")
	auditsDesc        = sum("flyball_audits_total", "Timed lists that look for lost events, by result: agreed, repaired, void (the list was of a newer version and showed no lost event; a lost deletion is repaired and not counted), failed.", byKind, "result")
	coalescedDesc     = sum("flyball_coalesced_events_total", "Changes that were merged into a pending one, before the cache or before a handler.", byKind, "before")
	leaderDesc        = sum("leader_election_master_status", "1 while this process is the leader, 0 while it is a standby.", byName)
)

// queueFigures are the metrics of the queue of a controller.
var queueFigures = []figure[workqueue.Stats]{
	{sum("controller_runtime_active_workers", "Requests that are being reconciled.", byController), func(x *workqueue.Stats) float64 { return float64(x.InFlight) }},
	{sum("workqueue_adds_total", "Requests that became ready.", byName, byController), func(x *workqueue.Stats) float64 { return float64(x.Adds) }},
	{sum("workqueue_retries_total", "Requests that were queued for a retry with backoff.", byName, byController), func(x *workqueue.Stats) float64 { return float64(x.Retries) }},
	{sum("workqueue_unfinished_work_seconds", "Sum of the times that the current requests have been worked on so far.", byName, byController), func(x *workqueue.Stats) float64 { return x.Unfinished.Seconds() }},
	{sum("workqueue_longest_running_processor_seconds", "Longest time that a current request has been worked on so far.", byName, byController), func(x *workqueue.Stats) float64 { return x.LongestRunning.Seconds() }},
	{sum("flyball_workqueue_oldest_seconds", "Longest time that a due request has waited for a worker so far.", byController), func(x *workqueue.Stats) float64 { return x.OldestWaiting.Seconds() }},
	{sum("flyball_workqueue_delayed", "Requests that are not due yet.", byController), func(x *workqueue.Stats) float64 { return float64(x.Delayed) }},
	{sum("flyball_workqueue_aged_total", "Requests that were taken before ones of a higher priority because of their long wait.", byController), func(x *workqueue.Stats) float64 { return float64(x.Aged) }},
}

// watchFigures are the metrics of a watch. Those of all watches of a kind are joined.
var watchFigures = []figure[cache.Watch]{
	{sum("flyball_cache_objects", "Objects in the cache.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Store.Objects) }},
	{sum("flyball_cache_wire_bytes", "Bytes of the objects in the cache as received from the server, without removed fields.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Store.Bytes) }},
	{sum("flyball_cache_held_bytes", "Bytes of memory for the objects in the cache, on and off the heap of the Go runtime.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Store.Held) }},
	{sum("flyball_cache_off_heap_bytes", "The part of flyball_cache_held_bytes that is outside the heap of the Go runtime, which GOMEMLIMIT does not count.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Store.OffHeap) }},
	{sum("flyball_cache_templates", "Objects in the cache that serve as templates: others are stored as differences from them.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Store.Templates) }},
	{greatest("flyball_cache_over_budget", "1 while the kind uses more memory than its budget; 0 otherwise, or without a budget.", byKind), func(x *cache.Watch) float64 { return boolean(x.Figures.Budget.Over) }},
	{sum("flyball_cache_rejected_objects", "Objects in the cache that are rejected because they cannot be used.", byKind), func(x *cache.Watch) float64 { return float64(x.State.Rejected) }},
	{least("flyball_cache_synced", "1 once every watch of the kind has had its first full list.", byKind), func(x *cache.Watch) float64 { return boolean(x.State.Synced) }},
	{least("flyball_watch_healthy", "1 while every watch of the kind can list and watch, 0 while one cannot.", byKind), func(x *cache.Watch) float64 { return boolean(x.State.Watch.Phase.Good()) }},
	{greatest("flyball_cache_unavailable", "1 while reads of the kind fail because the server says that it does not serve the kind, and discovery has not confirmed that; else 0.", byKind), func(x *cache.Watch) float64 { return boolean(x.State.Unavailable != nil) }},
	{sum("flyball_watch_backlog", "Changes between the watch and the cache.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Queued) }},
	{sum("flyball_handler_backlog", "Changes that wait for event handlers.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Handlers.Pending) }},
	{greatest("flyball_handler_behind_seconds", "Longest time that a change has waited for an event handler so far.", byKind), func(x *cache.Watch) float64 { return x.Figures.Handlers.Oldest.Seconds() }},
	{sum("flyball_handler_panics_total", "Calls of event handlers and sources that panicked.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Handlers.Panics) }},
	{sum("flyball_audit_repairs_total", "Audits that found lost events and repaired them.", byKind), func(x *cache.Watch) float64 { return float64(x.Figures.Audit.Repairs) }},
}

// certificateFigures are the metrics of a source of certificates.
var certificateFigures = []figure[cert.Stats]{
	{sum("flyball_certificate_expiry_timestamp_seconds", "Expiry of the served certificate chain in seconds since 1970; 0 without one.", byName), func(x *cert.Stats) float64 { return float64(max(x.NotAfter.Unix(), 0)) }},
	{sum("flyball_certificate_loads_total", "Certificates that were loaded and served.", byName), func(x *cert.Stats) float64 { return float64(x.Loads) }},
	{sum("certwatcher_read_certificate_total", "Reads of certificates."), func(x *cert.Stats) float64 { return float64(x.Reads) }},
	{sum("certwatcher_read_certificate_errors_total", "Reads of certificates that failed, and certificates that could not be used."), func(x *cert.Stats) float64 { return float64(x.Errors) }},
}

// eventFigures are the metrics of a recorder of events.
var eventFigures = []figure[event.Stats]{
	{sum("flyball_events_recorded_total", "Recorded events."), func(x *event.Stats) float64 { return float64(x.Recorded) }},
	{sum("flyball_events_told_total", "Events that were sent to the server, alone or in a series."), func(x *event.Stats) float64 { return float64(x.Sent) }},
	{sum("flyball_events_dropped_total", "Events that were dropped."), func(x *event.Stats) float64 { return float64(x.Dropped) }},
	{sum("flyball_events_waiting", "Events that wait to be sent."), func(x *event.Stats) float64 { return float64(x.Unsent) }},
}

// serverFigures are the metrics of a server.
var serverFigures = []figure[serve.Stats]{
	{sum("flyball_server_connections", "Open connections.", byServer), func(x *serve.Stats) float64 { return float64(x.Open) }},
	{sum("flyball_server_refused_connections_total", "Connections that were closed because of the bound on connections.", byServer), func(x *serve.Stats) float64 { return float64(x.Refused) }},
	{sum("flyball_server_requests_total", "Requests to the handler of a server.", byServer), func(x *serve.Stats) float64 { return float64(x.Requests) }},
	{sum("flyball_server_panics_total", "Requests whose handler panicked.", byServer), func(x *serve.Stats) float64 { return float64(x.Panics) }},
	{sum("flyball_server_timeouts_total", "Requests whose handler exceeded its timeout.", byServer), func(x *serve.Stats) float64 { return float64(x.Timeouts) }},
}

// figure is a metric whose value is read off an X.
type figure[X any] struct {
	*desc
	of func(*X) float64
}

// write writes the figures of x. Those with two labels have the name in both.
func write[X any](s *scrape, all []figure[X], x X, name string) {
	for _, f := range all {
		s.add(f.desc, f.of(&x), name, name)
	}
}

func (s *scrape) controller(name string, c controller.Interface) {
	s.add(workingDesc, boolean(c.State().Phase == controller.Working), name)
	write(s, queueFigures, c.QueueStats(), name)
	s.depths(name, c)
	for _, failure := range c.SourceFailures() {
		s.add(failingDesc, float64(failure.Objects), name, label(failure.Source))
		s.add(sourceBacklogDesc, float64(failure.Backlog), name, label(failure.Source))
		s.add(waitingWatchDesc, float64(len(failure.Waiting)), name, label(failure.Source))
	}
}

// maxPriorities is the number of priorities of a controller that have a label of their own.
const maxPriorities = 16

// depths writes the number of requests that wait for a worker, by priority. A label that was
// written once is written at every later scrape.
func (s *scrape) depths(name string, c controller.Interface) {
	labelled := s.labelled[name]
	if len(labelled) == 0 {
		labelled = []int{0}
	}
	for _, d := range c.QueueDepths() {
		own := slices.Contains(labelled, d.Priority)
		if !own && len(labelled) < maxPriorities {
			labelled, own = append(labelled, d.Priority), true
		}
		priority := "other"
		if own {
			priority = strconv.Itoa(d.Priority)
		}
		s.add(depthDesc, float64(d.Keys), name, name, priority)
	}
	s.labelled[name] = labelled
	for _, p := range labelled {
		s.add(depthDesc, 0, name, name, strconv.Itoa(p))
	}
	if len(labelled) == maxPriorities {
		s.add(depthDesc, 0, name, name, "other")
	}
}

func (s *scrape) watch(w cache.Watch) {
	name, state, f := kindLabel(w.Kind.GVK), w.State.Watch, w.Figures
	write(s, watchFigures, w, name)
	lag := math.NaN() // which leaves the series out, until every watch has heard something
	if at := state.LastEvent; !at.IsZero() {
		lag = max(s.now.Sub(at), 0).Seconds()
	}
	s.add(lagDesc, lag, name)
	s.add(coalescedDesc, float64(f.Coalesced), name, "cache")
	s.add(coalescedDesc, float64(f.Handlers.Merged), name, "handler")
	s.add(auditsDesc, float64(f.Audit.Agreed), name, "agreed")
	s.add(auditsDesc, float64(f.Audit.Repairs), name, "repaired")
	s.add(auditsDesc, float64(f.Audit.Void), name, "void")
	s.add(auditsDesc, float64(f.Audit.Failed), name, "failed")
	for _, reason := range relistReasons {
		s.add(relistsDesc, float64(state.Relists[reason]), name, reasonLabel(reason))
	}
	for _, reason := range restartReasons {
		s.add(restartsDesc, float64(state.Restarts[reason]), name, reasonLabel(reason))
	}
}

var (
	relistReasons = []string{"expired", "list expired", "too large", "older view",
		"went back", "garbage", "unplaced", "unreadable", "errors", "behind", "lost events", "refused", "audited",
		"kind gone"}
	restartReasons = []string{"ended", "silent", "broken", "busy", "failed", "mangled"}
)

// reasonLabel returns a reason as a label, such as "list_expired".
func reasonLabel(r string) string { return strings.ReplaceAll(string(r), " ", "_") }
