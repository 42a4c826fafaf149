// Package flyball runs controllers. A [Manager] holds the clients, the cache and the servers of one
// program. It starts everything in order and stops it in reverse.
//
//	mgr, err := flyball.New(flyball.Options{})                          // reads the configuration, starts nothing
//	c, err := controller.New(mgr, "label", label, controller.For[corev1.Pod]())
//	err = mgr.Run(flyball.SignalContext())                              // works until SIGTERM or a failure
//
// A reconciler reads and writes by [Manager.Client]. [Manager.Run] returns nil after SIGTERM if all ended in
// good order, and says otherwise what failed or lives on.
//
//	Serve ──────► Sync ──────► Always ─────► Lead           ctx ends, something fails,
//	webhooks,     caches       on every      controllers,   or the lease is lost
//	probes,                    replica       other runners:        │
//	metrics                                  on the leader         ▼
//	stops last ◄── third ◄──── second ◄───── stops first: no new work, running reconciles
//	                                         finish within the grace period, the lease is released
//
// Each [Phase] has a bound on its stop. Webhooks beyond loopback are served for a while after the stop, and
// the caches with them; see Webhooks.Drain.
//
// A program may have several managers, and a manager several clusters; see [Manager.Cluster]. It may run again
// after it stopped.
package flyball

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/internal/life"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/internal/readiness"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/ops/metrics"
	"github.com/flyball-io/flyball/webhook"
	"github.com/flyball-io/flyball/webhook/convert"
)

// Manager runs the controllers of a program, and holds the clients, the cache and the servers that they
// share. All methods may be called from any goroutine.
type Manager struct {
	*program
	cluster  string // the name of a further cluster; empty: that of the program
	o        Options
	files    *kubeconfig // nil: Options.Config was given
	logger   *slog.Logger
	bare     *client.Live // for the manager itself: no fence, no rate limit
	paced    *client.Live // rate limited by Options.Client
	live     *client.Live // paced, and fenced if there is an election
	cache    *cache.Cache
	client   client.Client
	unfenced client.Client
	events   *event.Recorder
	metrics  *metrics.Metrics
}

// program is what the managers of several clusters share.
type program struct {
	elector  *leader.Elector // nil: there is no election
	servers  servers
	webhooks *webhooks
	pageMux  *pathMux // beside the metrics
	budget   *webhook.Budget
	probes   probes

	life life.Life

	mu          sync.Mutex
	controllers map[string]readiness.Controller // by name
	clusters    []*Manager                      // the first is that of the program
}

var (
	_ controller.Manager = (*Manager)(nil)
	_ webhook.Manager    = (*Manager)(nil)
	_ convert.Manager    = (*Manager)(nil)
)

// New makes a manager. It reads the configuration and sends nothing to the server: Run checks the server
// first. Errors are an *[option.Error], or those of client.Config, client.New, cache.New and event.New.
func New(o Options) (*Manager, error) {
	given := o.Config
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	m := &Manager{o: o, files: newKubeconfig(given, o), logger: o.Logger, metrics: metrics.New(metrics.Options{Logger: o.Logger}), program: &program{
		life: life.Life{Logger: o.Logger, Bounds: o.Stop.resolved(o.GracePeriod), Late: late, InOrder: inOrder, Aborted: controller.WithAbort}, webhooks: &webhooks{newPathMux(), map[schema.GroupKind]bool{}}, pageMux: newPathMux(),
		budget: webhook.NewBudget(o.Webhooks.Memory), controllers: map[string]readiness.Controller{},
	}}
	m.clusters = []*Manager{m}
	if err := m.connect(); err != nil {
		return nil, err
	}
	err = m.metrics.Registerer().Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "flyball_log_dropped_total", Help: "Log lines that were dropped while the log was blocked.",
	}, func() float64 { return float64(logguard.Dropped(m.logger)) }))
	if err != nil {
		return nil, err
	}
	if err := m.elect(); err != nil {
		return nil, err
	}
	m.newClients()
	if err := m.newProbes(); err != nil {
		return nil, err
	}
	if err := m.newServers(); err != nil {
		return nil, err
	}
	if err := m.addParts(""); err != nil {
		return nil, err
	}
	m.life.Settled, m.life.Drained = m.settled, m.drained
	return m, nil
}

// connect makes the clients without a fence, the cache and the recorder of events.
func (m *Manager) connect() (err error) {
	o := m.o
	o.Client.Hook = both(m.metrics.ClientHook(hostOf(o.Config)), o.Client.Hook)
	if m.bare, err = client.New(o.Config, o.Client); err != nil {
		return err
	}
	o.Cache.OnProblem = both(m.metrics.CacheProblem, o.Cache.OnProblem)
	if m.cache, err = cache.New(cache.Connect(m.bare), o.Cache); err != nil {
		return err
	}
	m.paced = m.bare.HeldBy(m.cache.Held)
	// The lease and the events do not wait behind the writes of reconcilers.
	m.bare = m.paced.Limited(0, 0)
	m.metrics.AddCache(m.cache.Watches)
	m.events, err = event.New(m.bare, event.Options{Controller: o.Name, Limits: o.Events, Logger: o.Logger})
	if err != nil {
		return err
	}
	m.metrics.AddEvents(m.events.Stats)
	return nil
}

// addParts adds what runs for one cluster, under names that end with of. After an error nothing of it is left.
func (m *Manager) addParts(of string) error {
	// Reconciles record events until the last one has ended, so the recorder is in the phase that stops last.
	recorder, err := m.life.Add(life.Serve, "event recorder"+of, m.events.Run)
	if err != nil {
		return err
	}
	caches, err := m.life.Add(life.Sync, "cache"+of, m.cache.Run)
	if err != nil {
		return errors.Join(err, recorder.Close())
	}
	if m.files != nil {
		if _, err = m.life.Add(life.Serve, "kubeconfig"+of, m.files.run); err != nil {
			return errors.Join(err, recorder.Close(), caches.Close())
		}
	}
	return nil
}

// newClients makes the clients of the program, fenced if there is an election.
func (m *Manager) newClients() {
	onLive := both(both(m.metrics.LiveRead, m.logLiveReads()), m.o.OnLiveRead)
	m.unfenced = &reads{Client: m.paced, live: m.paced, cache: m.cache, onLive: onLive}
	m.live, m.client = m.paced, m.unfenced
	if m.elector != nil {
		m.live = m.elector.Fenced(m.paced)
		m.client = &reads{Client: m.live, live: m.live, cache: m.cache, onLive: onLive}
	}
}

// elect makes the elector, if there is an election.
func (m *Manager) elect() (err error) {
	if m.o.Leader == nil {
		return nil
	}
	o := *m.o.Leader
	o.Hook = both(func(s leader.Leadership) {
		if lost, ok := errors.AsType[*leader.LostError](s.Err); ok {
			m.life.Lost(lost)
		}
	}, o.Hook)
	if m.elector, err = leader.New(m.bare, o); err != nil {
		return badOption("Leader", err)
	}
	m.life.Elect = m.elector.Run
	_, err = m.metrics.AddLeader(o.Name, func() bool { return m.elector.State().Leading })
	return err
}

// logLiveReads logs the first read of each kind that the server answers in the place of the cache.
func (m *Manager) logLiveReads() func(schema.GroupVersionKind) {
	var logged sync.Map
	return func(gvk schema.GroupVersionKind) {
		if _, loaded := logged.LoadOrStore(gvk, true); !loaded {
			m.logger.Info("the server answers reads of a kind that the cache does not hold", "kind", gvk.GroupKind().String())
		}
	}
}

// both calls first, then second unless it is nil.
func both[T any](first, second func(T)) func(T) {
	if second == nil {
		return first
	}
	return func(v T) {
		first(v)
		second(v)
	}
}

// hostOf is the host and port of the server.
func hostOf(c *rest.Config) string {
	if u, _, err := rest.DefaultServerUrlFor(c); err == nil {
		return u.Host
	}
	return "" // c.Host may have credentials
}

// Client reads from the cache or from the server, and writes to the server.
//
// The cache answers a read of a kind that it holds: a kind that a controller watches, or that was opened in
// [Manager.Cache]. The server answers a read of any other kind, one request for each. Such reads are counted
// (flyball_live_reads_total, Options.OnLiveRead), and the first of each kind is logged. To read them from the
// cache, watch the kind or open it. [Manager.Cache] itself answers them with a *cache.UndeclaredError.
//
// No read is an empty answer for lack of knowledge. A kind that is held and has not synced is an error,
// and so is a namespace that Options.Cache leaves out. A kind counts as not held if the cache may not list
// it, or the server does not serve it, and it has never synced. The server does not answer a question in
// the place of a cache that was restricted: to selectors, or, about all namespaces, to some of them.
//
// With Options.Leader a write is sent only while this process holds a valid lease. Any other write is a
// *client.FencedError that wraps a *leader.NotLeadingError.
func (m *Manager) Client() client.Client { return m.client }

// Live reads from the server and writes to it. With Options.Leader its writes are fenced as those of
// [Manager.Client].
func (m *Manager) Live() *client.Live { return m.live }

// Unfenced is [Manager.Client] without the fence, for controllers on every replica: it writes whether this
// process leads or not. Without Options.Leader it is the same.
func (m *Manager) Unfenced() client.Client { return m.unfenced }

// Cache opens kinds and declares indexes. It runs while the manager runs.
func (m *Manager) Cache() *cache.Cache { return m.cache }

// Events records Kubernetes Events, for people to read. It never blocks. Events are sent while the manager
// runs, on a standby too.
func (m *Manager) Events() *event.Recorder { return m.events }

// Scheme knows the Go types of the kinds.
func (m *Manager) Scheme() *runtime.Scheme { return m.bare.Scheme() }

// Mapper tells which resource serves a kind. It may ask the server.
func (m *Manager) Mapper() meta.RESTMapper {
	own, ok := m.bare.Mapper().(following)
	if !ok || m.cluster == "" {
		return m.bare.Mapper()
	}
	return clusterMapper{own, m}
}

// Logger is the base of the logs of controllers without a logger of their own.
func (m *Manager) Logger() *slog.Logger { return m.logger }

// GracePeriod is how long running reconciles may go on after Run was told to stop. After the stop it is the
// rest of that time.
func (m *Manager) GracePeriod() time.Duration {
	return max(0, m.o.GracePeriod-m.life.Stopping())
}

// ResyncPeriod is Options.Cache.Resync, for controllers that do not name their own.
func (m *Manager) ResyncPeriod() time.Duration { return m.o.Cache.Resync }

// Name is the name of the program.
func (m *Manager) Name() string { return m.o.Name }

// Leading reports whether this process holds a valid lease now. Without Options.Leader it is always true.
func (m *Manager) Leading() bool { return m.elector == nil || m.elector.State().Leading }

// Metrics registers metrics of the program, which are served with the others. The registry belongs to this
// manager alone. A collector that panics ends the process.
func (m *Manager) Metrics() prometheus.Registerer { return m.metrics.Registerer() }

// Gatherer yields all metrics, for readers in the process.
func (m *Manager) Gatherer() prometheus.Gatherer { return m.metrics.Gatherer() }

// ControllerHooks returns the hooks that count reconciles for the metrics; see controller.Manager.
func (m *Manager) ControllerHooks(name string, workers int) controller.Hooks {
	return m.metrics.Controller(name, workers)
}

// WebhookHooks returns the hooks that count webhook requests for the metrics; see webhook.Manager.
func (m *Manager) WebhookHooks() webhook.Hooks { return m.metrics.Webhooks() }

// WebhookBudget bounds the memory for the bodies of all requests to webhooks; see Webhooks.Memory.
func (m *Manager) WebhookBudget() *webhook.Budget { return m.budget }
