package metrics

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/serve"
)

// descs are the descriptions of all metrics of a collector.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	descs = append(descs, d)
	return d
}

var (
	workingDesc = desc("flyball_controller_working", "1 while the workers of a controller reconcile, 0 while it syncs, stops or is stopped.", byController)
	activeDesc  = desc("controller_runtime_active_workers", "Requests that are being reconciled.", byController)

	failingDesc = desc("flyball_source_failing_objects", "Objects whose changes wait because the handler of a source fails on them. The handler is retried until it succeeds.", byController, "source")

	depthDesc      = desc("workqueue_depth", "Requests that wait for a worker, and those added during their own reconcile. The first 16 priorities of a controller have a label each; all others have the label other.", byName, byController, "priority")
	addsDesc       = desc("workqueue_adds_total", "Requests that became ready.", byName, byController)
	retriesDesc    = desc("workqueue_retries_total", "Requests that were queued for a retry with backoff.", byName, byController)
	unfinishedDesc = desc("workqueue_unfinished_work_seconds", "Sum of the times that the current requests have been worked on so far.", byName, byController)
	longestDesc    = desc("workqueue_longest_running_processor_seconds", "Longest time that a current request has been worked on so far.", byName, byController)
	oldestDesc     = desc("flyball_workqueue_oldest_seconds", "Longest time that a due request has waited for a worker so far.", byController)
	delayedDesc    = desc("flyball_workqueue_delayed", "Requests that are not due yet.", byController)
	agedDesc       = desc("flyball_workqueue_aged_total", "Requests that were taken before ones of a higher priority because of their long wait.", byController)

	objectsDesc   = desc("flyball_cache_objects", "Objects in the cache.", byKind)
	wireDesc      = desc("flyball_cache_wire_bytes", "Bytes of the objects in the cache as received from the server, without removed fields.", byKind)
	heldDesc      = desc("flyball_cache_held_bytes", "Bytes of memory for the objects in the cache, on and off the heap of the Go runtime.", byKind)
	offHeapDesc   = desc("flyball_cache_off_heap_bytes", "The part of flyball_cache_held_bytes that is outside the heap of the Go runtime, which GOMEMLIMIT does not count.", byKind)
	templatesDesc = desc("flyball_cache_templates", "Objects in the cache that serve as templates: others are stored as differences from them.", byKind)
	overDesc      = desc("flyball_cache_over_budget", "1 while the kind uses more memory than its budget; 0 otherwise, or without a budget.", byKind)
	setAsideDesc  = desc("flyball_set_aside_objects", "Objects in the cache that are set aside because they cannot be used.", byKind)
	syncedDesc    = desc("flyball_cache_synced", "1 once every watch of the kind has had its first full list.", byKind)
	healthyDesc   = desc("flyball_watch_healthy", "1 while every watch of the kind can list and watch, 0 while one cannot.", byKind)
	unavailDesc   = desc("flyball_cache_unavailable", "1 while reads of the kind fail because the server says that it does not serve the kind, and discovery has not confirmed that; else 0.", byKind)
	lagDesc       = desc("flyball_watch_lag_seconds", "Longest time since a watch of the kind heard from the server. A server without changes sends a bookmark about every minute.", byKind)
	queuedDesc    = desc("flyball_watch_backlog", "Changes between the watch and the cache.", byKind)
	relistsDesc   = desc("flyball_relists_total", "Completed lists after the first one, by reason.", byKind, "reason")
	restartsDesc  = desc("flyball_watch_restarts_total", "Watches that were reopened, by reason.", byKind, "reason")
	auditsDesc    = desc("flyball_audits_total", "Comparisons of the cache with a list of the metadata, by result: agreed, repaired, void (a list ran meanwhile, or the watch was not current), failed.", byKind, "result")
	repairsDesc   = desc("flyball_audit_repairs_total", "Audits that detected lost events and started a relist.", byKind)
	backlogDesc   = desc("flyball_handler_backlog", "Changes that wait for event handlers.", byKind)
	behindDesc    = desc("flyball_handler_behind_seconds", "Longest time that a change has waited for an event handler so far.", byKind)
	panicsDesc    = desc("flyball_handler_panics_total", "Calls of event handlers and sources that panicked.", byKind)
	coalescedDesc = desc("flyball_coalesced_events_total", "Changes that were merged into a pending one, before the cache or before a handler.", byKind, "before")

	leaderDesc = desc("leader_election_master_status", "1 while this process is the leader, 0 while it is a standby.", byName)

	expiryDesc     = desc("flyball_certificate_expiry_timestamp_seconds", "Expiry of the served certificate chain in seconds since 1970; 0 without one.", byName)
	certReadsDesc  = desc("certwatcher_read_certificate_total", "Reads of certificates.")
	certErrorsDesc = desc("certwatcher_read_certificate_errors_total", "Reads of certificates that failed, and certificates that could not be used.")
	certLoadsDesc  = desc("flyball_certificate_loads_total", "Certificates that were loaded and served.", byName)

	recordedDesc = desc("flyball_events_recorded_total", "Recorded events.")
	sentDesc     = desc("flyball_events_told_total", "Events that were sent to the server, alone or in a series.")
	droppedDesc  = desc("flyball_events_dropped_total", "Events that were dropped.")
	waitingDesc  = desc("flyball_events_waiting", "Events that wait to be sent.")

	openDesc          = desc("flyball_server_connections", "Open connections.", byServer)
	turnedDesc        = desc("flyball_server_turned_connections_total", "Connections that were closed because of the bound on connections.", byServer)
	serverReqDesc     = desc("flyball_server_requests_total", "Requests to the handler of a server.", byServer)
	serverPanicDesc   = desc("flyball_server_panics_total", "Requests whose handler panicked.", byServer)
	serverTimeoutDesc = desc("flyball_server_timeouts_total", "Requests whose handler exceeded its timeout.", byServer)
)

const (
	byKind   = "kind"
	byServer = "server"
)

func (s *scrape) controller(name string, c controller.Interface) {
	state, q := c.State(), c.QueueStats()
	s.gauge(workingDesc, boolean(state.Phase == controller.Working), name)
	s.gauge(activeDesc, float64(q.InFlight), name)
	s.sources(name, c)
	s.depths(name, c)
	s.counter(addsDesc, float64(q.Adds), name, name)
	s.counter(retriesDesc, float64(q.Retries), name, name)
	s.gauge(unfinishedDesc, q.Unfinished.Seconds(), name, name)
	s.gauge(longestDesc, q.LongestRunning.Seconds(), name, name)
	s.gauge(oldestDesc, q.OldestWaiting.Seconds(), name)
	s.gauge(delayedDesc, float64(q.Delayed), name)
	s.counter(agedDesc, float64(q.Aged), name)
}

// sources shows what the sources of a controller fail on; those of one name are added up.
func (s *scrape) sources(name string, c controller.Interface) {
	objects := map[string]int{}
	for _, failure := range c.SourceFailures() {
		objects[failure.Source] += failure.Objects
	}
	for source, n := range objects {
		s.gauge(failingDesc, float64(n), name, label(source))
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
	keys, others := map[int]int{}, 0
	for _, d := range c.QueueDepths() {
		switch {
		case slices.Contains(labelled, d.Priority):
		case len(labelled) < maxPriorities:
			labelled = append(labelled, d.Priority)
		default:
			others += d.Keys
			continue
		}
		keys[d.Priority] = d.Keys
	}
	s.labelled[name] = labelled
	for _, p := range labelled {
		s.gauge(depthDesc, float64(keys[p]), name, name, strconv.Itoa(p))
	}
	if len(labelled) == maxPriorities {
		s.gauge(depthDesc, float64(others), name, name, "other")
	}
}

// kind adds up the figures of all watches of a kind.
type kind struct {
	objects, setAside, queued, backlog       int
	templates                                int
	wire, held, offHeap                      int64
	synced, healthy, overBudget, unavailable bool
	lastHeard                                time.Time // the oldest time over the watches; zero: one of them heard nothing
	neverHeard                               bool      // one of the watches has heard nothing yet
	behind                                   time.Duration
	panics, mergedStore, mergedHandler       uint64
	relists, restarts                        map[reflector.Reason]int
	audits                                   informer.AuditStats
}

func (s *scrape) caches(all []cache.Watch) {
	kinds := map[string]*kind{}
	for _, w := range all {
		name := kindLabel(w.Kind.GVK)
		k := kinds[name]
		if k == nil {
			k = &kind{synced: true, healthy: true, relists: map[reflector.Reason]int{}, restarts: map[reflector.Reason]int{}}
			kinds[name] = k
		}
		k.add(w)
	}
	for name, k := range kinds {
		s.kind(name, k)
	}
}

func (k *kind) add(w cache.Watch) {
	state, f := w.State.Watch, w.Figures
	k.objects += f.Store.Objects
	k.wire += f.Store.Bytes
	k.held += f.Store.Held
	k.offHeap += f.Store.OffHeap
	k.templates += f.Store.Templates
	k.overBudget = k.overBudget || f.Budget.Over
	k.setAside += w.State.SetAside
	k.queued += f.Queue.Depth
	k.synced = k.synced && w.State.Synced
	k.healthy = k.healthy && state.Phase.Good()
	k.unavailable = k.unavailable || w.State.Unavailable != nil
	if at := state.LastEvent; at.IsZero() {
		k.neverHeard = true
	} else if k.lastHeard.IsZero() || at.Before(k.lastHeard) {
		k.lastHeard = at
	}
	k.backlog += f.Handlers.Pending
	k.behind = max(k.behind, f.Handlers.Oldest)
	k.panics += f.Handlers.Panics
	k.mergedStore += f.Queue.Merged
	k.mergedHandler += f.Handlers.Merged
	k.audits.Agreed += f.Audit.Agreed
	k.audits.Repairs += f.Audit.Repairs
	k.audits.Void += f.Audit.Void
	k.audits.Failed += f.Audit.Failed
	for reason, n := range state.Relists {
		k.relists[reason] += n
	}
	for reason, n := range state.Restarts {
		k.restarts[reason] += n
	}
}

func (s *scrape) kind(name string, k *kind) {
	s.gauge(objectsDesc, float64(k.objects), name)
	s.gauge(wireDesc, float64(k.wire), name)
	s.gauge(heldDesc, float64(k.held), name)
	s.gauge(offHeapDesc, float64(k.offHeap), name)
	s.gauge(templatesDesc, float64(k.templates), name)
	s.gauge(overDesc, boolean(k.overBudget), name)
	s.gauge(setAsideDesc, float64(k.setAside), name)
	s.gauge(syncedDesc, boolean(k.synced), name)
	s.gauge(healthyDesc, boolean(k.healthy), name)
	s.gauge(unavailDesc, boolean(k.unavailable), name)
	if !k.neverHeard {
		s.gauge(lagDesc, max(s.now.Sub(k.lastHeard), 0).Seconds(), name)
	}
	s.gauge(queuedDesc, float64(k.queued), name)
	s.gauge(backlogDesc, float64(k.backlog), name)
	s.gauge(behindDesc, k.behind.Seconds(), name)
	s.counter(panicsDesc, float64(k.panics), name)
	s.counter(coalescedDesc, float64(k.mergedStore), name, "cache")
	s.counter(coalescedDesc, float64(k.mergedHandler), name, "handler")
	s.counter(auditsDesc, float64(k.audits.Agreed), name, "agreed")
	s.counter(auditsDesc, float64(k.audits.Repairs), name, "repaired")
	s.counter(auditsDesc, float64(k.audits.Void), name, "void")
	s.counter(auditsDesc, float64(k.audits.Failed), name, "failed")
	s.counter(repairsDesc, float64(k.audits.Repairs), name)
	delete(k.relists, reflector.First)
	for _, reason := range relistReasons {
		s.counter(relistsDesc, float64(k.relists[reason]), name, reasonLabel(reason))
	}
	for _, reason := range restartReasons {
		s.counter(restartsDesc, float64(k.restarts[reason]), name, reasonLabel(reason))
	}
}

var (
	relistReasons = []reflector.Reason{reflector.Expired, reflector.ListExpired, reflector.TooLarge, reflector.OlderView,
		reflector.WentBack, reflector.Garbage, reflector.Unplaced, reflector.Unreadable, reflector.Errors, reflector.Behind, reflector.Deaf, reflector.Refused, reflector.Audited,
		reflector.KindGone}
	restartReasons = []reflector.Reason{reflector.Ended, reflector.Silent, reflector.Broken, reflector.Busy, reflector.Failed, reflector.Mangled}
)

// reasonLabel returns a reason as a label, such as "list_expired".
func reasonLabel(r reflector.Reason) string { return strings.ReplaceAll(string(r), " ", "_") }

func (s *scrape) certificates(all map[string]Certificate) {
	if len(all) == 0 {
		return
	}
	var reads, errs uint64
	for name, c := range all {
		st := c.Stats()
		reads += st.Reads
		errs += st.Errors
		at := 0.0
		if !st.NotAfter.IsZero() {
			at = float64(st.NotAfter.Unix())
		}
		s.gauge(expiryDesc, at, name)
		s.counter(certLoadsDesc, float64(st.Loads), name)
	}
	s.counter(certReadsDesc, float64(reads))
	s.counter(certErrorsDesc, float64(errs))
}

func (s *scrape) events(all []*func() event.Stats) {
	if len(all) == 0 {
		return
	}
	var sum event.Stats
	for _, stats := range all {
		st := (*stats)()
		sum.Recorded += st.Recorded
		sum.Told += st.Told
		sum.Dropped += st.Dropped
		sum.Untold += st.Untold
	}
	s.counter(recordedDesc, float64(sum.Recorded))
	s.counter(sentDesc, float64(sum.Told))
	s.counter(droppedDesc, float64(sum.Dropped))
	s.gauge(waitingDesc, float64(sum.Untold))
}

func (s *scrape) server(name string, st serve.Stats) {
	s.gauge(openDesc, float64(st.Open), name)
	s.counter(turnedDesc, float64(st.Turned), name)
	s.counter(serverReqDesc, float64(st.Requests), name)
	s.counter(serverPanicDesc, float64(st.Panics), name)
	s.counter(serverTimeoutDesc, float64(st.Timeouts), name)
}
