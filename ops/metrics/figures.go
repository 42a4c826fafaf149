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
	activeDesc        = sum("controller_runtime_active_workers", "Requests that are being reconciled.", byController)
	failingDesc       = sum("flyball_source_failing_objects", "Objects whose changes wait because the handler of a source fails on them. The handler is retried until it succeeds.", byController, "source")
	sourceBacklogDesc = sum("flyball_source_backlog", "Objects with changes that wait for the handler of a source.", byController, "source")
	waitingWatchDesc  = sum("flyball_source_waiting_watches", "Watches of a source that have not synced: the controller waits for them, or works without them.", byController, "source")
	depthDesc         = sum("workqueue_depth", "Requests that wait for a worker, and those added during their own reconcile. The first 16 priorities of a controller have a label each; all others have the label other.", byName, byController, "priority")
	addsDesc          = sum("workqueue_adds_total", "Requests that became ready.", byName, byController)
	retriesDesc       = sum("workqueue_retries_total", "Requests that were queued for a retry with backoff.", byName, byController)
	unfinishedDesc    = sum("workqueue_unfinished_work_seconds", "Sum of the times that the current requests have been worked on so far.", byName, byController)
	longestDesc       = sum("workqueue_longest_running_processor_seconds", "Longest time that a current request has been worked on so far.", byName, byController)
	oldestDesc        = sum("flyball_workqueue_oldest_seconds", "Longest time that a due request has waited for a worker so far.", byController)
	delayedDesc       = sum("flyball_workqueue_delayed", "Requests that are not due yet.", byController)
	agedDesc          = sum("flyball_workqueue_aged_total", "Requests that were taken before ones of a higher priority because of their long wait.", byController)
	objectsDesc       = sum("flyball_cache_objects", "Objects in the cache.", byKind)
	wireDesc          = sum("flyball_cache_wire_bytes", "Bytes of the objects in the cache as received from the server, without removed fields.", byKind)
	heldDesc          = sum("flyball_cache_held_bytes", "Bytes of memory for the objects in the cache, on and off the heap of the Go runtime.", byKind)
	offHeapDesc       = sum("flyball_cache_off_heap_bytes", "The part of flyball_cache_held_bytes that is outside the heap of the Go runtime, which GOMEMLIMIT does not count.", byKind)
	templatesDesc     = sum("flyball_cache_templates", "Objects in the cache that serve as templates: others are stored as differences from them.", byKind)
	overDesc          = greatest("flyball_cache_over_budget", "1 while the kind uses more memory than its budget; 0 otherwise, or without a budget.", byKind)
	rejectedDesc      = sum("flyball_cache_rejected_objects", "Objects in the cache that are rejected because they cannot be used.", byKind)
	syncedDesc        = least("flyball_cache_synced", "1 once every watch of the kind has had its first full list.", byKind)
	healthyDesc       = least("flyball_watch_healthy", "1 while every watch of the kind can list and watch, 0 while one cannot.", byKind)
	unavailDesc       = greatest("flyball_cache_unavailable", "1 while reads of the kind fail because the server says that it does not serve the kind, and discovery has not confirmed that; else 0.", byKind)
	lagDesc           = greatest("flyball_watch_lag_seconds", "Longest time since a watch of the kind heard from the server. A server without changes sends a bookmark about every minute.", byKind)
	queuedDesc        = sum("flyball_watch_backlog", "Changes between the watch and the cache.", byKind)
	relistsDesc       = sum("flyball_relists_total", "Completed lists after the first one, by reason.", byKind, "reason")
	restartsDesc      = sum("flyball_watch_restarts_total", "Watches that were reopened, by reason.", byKind, "reason")
	auditsDesc        = sum("flyball_audits_total", "Timed lists that look for lost events, by result: agreed, repaired, void (the list was of a newer version and showed no lost event; a lost deletion is repaired and not counted), failed.", byKind, "result")
	repairsDesc       = sum("flyball_audit_repairs_total", "Audits that found lost events and repaired them.", byKind)
	backlogDesc       = sum("flyball_handler_backlog", "Changes that wait for event handlers.", byKind)
	behindDesc        = greatest("flyball_handler_behind_seconds", "Longest time that a change has waited for an event handler so far.", byKind)
	panicsDesc        = sum("flyball_handler_panics_total", "Calls of event handlers and sources that panicked.", byKind)
	coalescedDesc     = sum("flyball_coalesced_events_total", "Changes that were merged into a pending one, before the cache or before a handler.", byKind, "before")
	leaderDesc        = sum("leader_election_master_status", "1 while this process is the leader, 0 while it is a standby.", byName)
	expiryDesc        = sum("flyball_certificate_expiry_timestamp_seconds", "Expiry of the served certificate chain in seconds since 1970; 0 without one.", byName)
	certReadsDesc     = sum("certwatcher_read_certificate_total", "Reads of certificates.")
	certErrorsDesc    = sum("certwatcher_read_certificate_errors_total", "Reads of certificates that failed, and certificates that could not be used.")
	certLoadsDesc     = sum("flyball_certificate_loads_total", "Certificates that were loaded and served.", byName)
	recordedDesc      = sum("flyball_events_recorded_total", "Recorded events.")
	sentDesc          = sum("flyball_events_told_total", "Events that were sent to the server, alone or in a series.")
	droppedDesc       = sum("flyball_events_dropped_total", "Events that were dropped.")
	waitingDesc       = sum("flyball_events_waiting", "Events that wait to be sent.")
	openDesc          = sum("flyball_server_connections", "Open connections.", byServer)
	refusedDesc       = sum("flyball_server_refused_connections_total", "Connections that were closed because of the bound on connections.", byServer)
	serverReqDesc     = sum("flyball_server_requests_total", "Requests to the handler of a server.", byServer)
	serverPanicDesc   = sum("flyball_server_panics_total", "Requests whose handler panicked.", byServer)
	serverTimeoutDesc = sum("flyball_server_timeouts_total", "Requests whose handler exceeded its timeout.", byServer)
)

func (s *scrape) controller(name string, c controller.Interface) {
	q := c.QueueStats()
	s.add(workingDesc, boolean(c.State().Phase == controller.Working), name)
	s.add(activeDesc, float64(q.InFlight), name)
	s.add(addsDesc, float64(q.Adds), name, name)
	s.add(retriesDesc, float64(q.Retries), name, name)
	s.add(unfinishedDesc, q.Unfinished.Seconds(), name, name)
	s.add(longestDesc, q.LongestRunning.Seconds(), name, name)
	s.add(oldestDesc, q.OldestWaiting.Seconds(), name)
	s.add(delayedDesc, float64(q.Delayed), name)
	s.add(agedDesc, float64(q.Aged), name)
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

// watch writes the figures of one watch. Those of all watches of a kind are joined.
func (s *scrape) watch(w cache.Watch) {
	name, state, f := kindLabel(w.Kind.GVK), w.State.Watch, w.Figures
	s.add(objectsDesc, float64(f.Store.Objects), name)
	s.add(wireDesc, float64(f.Store.Bytes), name)
	s.add(heldDesc, float64(f.Store.Held), name)
	s.add(offHeapDesc, float64(f.Store.OffHeap), name)
	s.add(templatesDesc, float64(f.Store.Templates), name)
	s.add(overDesc, boolean(f.Budget.Over), name)
	s.add(rejectedDesc, float64(w.State.Rejected), name)
	s.add(syncedDesc, boolean(w.State.Synced), name)
	s.add(healthyDesc, boolean(state.Phase.Good()), name)
	s.add(unavailDesc, boolean(w.State.Unavailable != nil), name)
	lag := math.NaN() // which leaves the series out, until every watch has heard something
	if at := state.LastEvent; !at.IsZero() {
		lag = max(s.now.Sub(at), 0).Seconds()
	}
	s.add(lagDesc, lag, name)
	s.add(queuedDesc, float64(f.Queued), name)
	s.add(backlogDesc, float64(f.Handlers.Pending), name)
	s.add(behindDesc, f.Handlers.Oldest.Seconds(), name)
	s.add(panicsDesc, float64(f.Handlers.Panics), name)
	s.add(coalescedDesc, float64(f.Coalesced), name, "cache")
	s.add(coalescedDesc, float64(f.Handlers.Merged), name, "handler")
	s.add(auditsDesc, float64(f.Audit.Agreed), name, "agreed")
	s.add(auditsDesc, float64(f.Audit.Repairs), name, "repaired")
	s.add(auditsDesc, float64(f.Audit.Void), name, "void")
	s.add(auditsDesc, float64(f.Audit.Failed), name, "failed")
	s.add(repairsDesc, float64(f.Audit.Repairs), name)
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

func (s *scrape) certificate(name string, st cert.Stats) {
	at := 0.0
	if !st.NotAfter.IsZero() {
		at = float64(st.NotAfter.Unix())
	}
	s.add(expiryDesc, at, name)
	s.add(certLoadsDesc, float64(st.Loads), name)
	s.add(certReadsDesc, float64(st.Reads))
	s.add(certErrorsDesc, float64(st.Errors))
}

func (s *scrape) events(st event.Stats) {
	s.add(recordedDesc, float64(st.Recorded))
	s.add(sentDesc, float64(st.Sent))
	s.add(droppedDesc, float64(st.Dropped))
	s.add(waitingDesc, float64(st.Unsent))
}

func (s *scrape) server(name string, st serve.Stats) {
	s.add(openDesc, float64(st.Open), name)
	s.add(refusedDesc, float64(st.Refused), name)
	s.add(serverReqDesc, float64(st.Requests), name)
	s.add(serverPanicDesc, float64(st.Panics), name)
	s.add(serverTimeoutDesc, float64(st.Timeouts), name)
}
