// Package flyball is the front door of the framework: a [Manager] holds what the controllers of
// one program share, starts everything in order and stops it in reverse.
//
//	mgr, err := flyball.New(flyball.Options{})       reads the configuration, starts nothing
//	controller.New(mgr, "name", reconciler, …)       checks, and joins the manager
//	err = mgr.Run(flyball.SignalContext())
//
//	  Serve ──────► Sync ──────► Always ─────► Lead           ctx ends, something fails,
//	  webhooks,     caches       on every      controllers,   or the lease is lost
//	  probes,                    replica       other runners:        │
//	  metrics                                  on the leader         ▼
//	  stops last ◄── third ◄──── second ◄───── stops first: no new work, running reconciles
//	                                           finish within the grace period, the lease is released
//
// Each phase has a bound on how long it may take to stop. Webhooks that are served beyond loopback go
// on to be for a while, with the caches; see Webhooks.Drain.
//
// Nothing is global: a program may have several managers, for several clusters too, and each may
// run again after it stopped.
package flyball

import (
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/leader"
	"github.com/flyball-io/flyball/metrics"
	"github.com/flyball-io/flyball/webhook"
)

// Manager holds what the controllers of a program share, and runs them. All methods may be called
// from any goroutine.
type Manager struct {
	o        Options
	logger   *slog.Logger
	bare     *client.Live // what the manager itself sends: no fence, no limit
	paced    *client.Live // under the limit of Options.Client
	live     *client.Live // the same, behind a fence if there is an election
	cache    *cache.Cache
	client   client.Client
	unfenced client.Client
	events   *event.Recorder
	elector  *leader.Elector // nil: there is no election
	metrics  *metrics.Metrics
	servers  servers
	webhooks *webhooks
	budget   *webhook.Budget
	probes   probes

	life life

	mu     sync.Mutex
	states map[string]stateful // controllers, by name
}

var (
	_ controller.Manager      = (*Manager)(nil)
	_ controller.Instrumented = (*Manager)(nil)
	_ webhook.Manager         = (*Manager)(nil)
)

// New makes a manager. It reads the configuration but does not talk to the server, which Run
// does first. Errors are an *[option.Error], or those of client.Config, client.New, cache.New and
// event.New.
func New(o Options) (*Manager, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	m := &Manager{
		o: o, logger: o.Logger, metrics: metrics.New(metrics.Options{Logger: o.Logger}),
		life: life{logger: o.Logger, bounds: o.Stop.resolved(o.GracePeriod)}, webhooks: newWebhooks(), budget: webhook.NewBudget(o.Webhooks.Memory), states: map[string]stateful{},
	}
	if err := m.connect(); err != nil {
		return nil, err
	}
	if err := m.elect(); err != nil {
		return nil, err
	}
	if err := m.newProbes(); err != nil {
		return nil, err
	}
	if err := m.newServers(); err != nil {
		return nil, err
	}
	// Controllers write events until their last reconcile has ended, so the recorder outlives them.
	if _, err := m.life.add(Serve, "event recorder", m.events); err != nil {
		return nil, err
	}
	if _, err := m.life.add(Sync, "cache", m.cache); err != nil {
		return nil, err
	}
	m.life.settled, m.life.drained = m.settled, m.drained
	return m, nil
}

// connect makes what talks to the server.
func (m *Manager) connect() (err error) {
	o := m.o
	o.Client.Hook = both(m.metrics.ClientHook(hostOf(o.Config)), o.Client.Hook)
	if m.bare, err = client.New(o.Config, o.Client); err != nil {
		return err
	}
	o.Cache.OnProblem = both(m.metrics.CacheProblem, o.Cache.OnProblem)
	if m.cache, err = cache.New(informer.Connect(m.bare), o.Cache); err != nil {
		return err
	}
	m.paced = m.bare.HeldBy(m.cache)
	// Neither the lease nor an event waits behind the writes of reconcilers: they have paces of their own.
	m.bare = m.paced.Limited(0, 0)
	m.metrics.AddCache(m.cache.Watches)
	err = m.metrics.Registerer().Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "flyball_log_dropped_total", Help: "Lines that were not logged, since the log took nothing.",
	}, func() float64 { return float64(logguard.Dropped(m.logger)) }))
	if err != nil {
		return err
	}
	m.events, err = event.New(m.bare, event.Options{Controller: o.Name, Limits: o.Events, Logger: o.Logger})
	if err != nil {
		return err
	}
	m.metrics.AddEvents(m.events.Stats)
	m.live = m.paced
	return nil
}

// elect makes the clients, with a fence if there is an election.
func (m *Manager) elect() (err error) {
	onLive := both(m.metrics.LiveRead, m.o.Hooks.LiveRead)
	m.unfenced = &reads{Client: m.paced, live: m.paced, cache: m.cache, onLive: onLive}
	m.client = m.unfenced
	if m.o.Leader == nil {
		return nil
	}
	o := *m.o.Leader
	o.Hook = both(func(s leader.State) {
		if lost, ok := errors.AsType[*leader.LostError](s.Err); ok {
			m.life.lost(lost)
		}
	}, o.Hook)
	if m.elector, err = leader.New(m.bare, o); err != nil {
		return badOption("Leader", err)
	}
	m.life.elect = m.elector.Run
	m.live = m.elector.Fenced(m.paced)
	m.client = &reads{Client: m.live, live: m.live, cache: m.cache, onLive: onLive}
	_, err = m.metrics.AddLeader(o.Name, func() bool { return m.elector.State().Leading })
	return err
}

// both calls first, then second, which may be nil.
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
	if u, err := url.Parse(c.Host); err == nil && u.Host != "" {
		return u.Host
	}
	return c.Host
}

// Client reads from the cache what is cached, that is the kinds that controllers watch and those
// that were opened in [Manager.Cache], and everything else from the server. It writes to the
// server. A read of a kind that has not synced yet is an error, never an empty answer; but one
// that the cache may not list, or that is not served, and that has never synced, is read from the
// server: that somebody opened it in vain takes nothing from those who may get single objects.
// What Options.Cache restricts by selectors is never read so, nor all of it by a cache of some
// namespaces.
//
// With Options.Leader it writes only while this process surely leads: other writes are a
// *client.FencedError, with a *leader.NotLeadingError in it, and nothing is sent.
func (m *Manager) Client() client.Client { return m.client }

// Live reads from and writes to the server. With Options.Leader its writes are those of
// [Manager.Client].
func (m *Manager) Live() *client.Live { return m.live }

// Unfenced is [Manager.Client] for what runs on every replica: it writes whether this process leads
// or not. Without Options.Leader it is the same.
func (m *Manager) Unfenced() client.Client { return m.unfenced }

// Cache is where kinds are opened and indexes are declared. It runs while the manager does.
func (m *Manager) Cache() *cache.Cache { return m.cache }

// Events records Kubernetes Events, for people to read; it never blocks. They are sent while the
// manager runs, by whoever records them: a standby, too.
func (m *Manager) Events() *event.Recorder { return m.events }

// Scheme knows the Go types of the kinds.
func (m *Manager) Scheme() *runtime.Scheme { return m.bare.Scheme() }

// Mapper knows which resource serves a kind.
func (m *Manager) Mapper() meta.RESTMapper { return m.bare.Mapper() }

// Logger is where controllers log that have no logger of their own.
func (m *Manager) Logger() *slog.Logger { return m.logger }

// GracePeriod is how long running reconciles may go on after Run was told to stop: what is left of
// it, once that has happened.
func (m *Manager) GracePeriod() time.Duration {
	return max(0, m.o.GracePeriod-m.life.stopping())
}

// ResyncPeriod implements controller.Resyncing: it is Options.Cache.Resync.
func (m *Manager) ResyncPeriod() time.Duration { return m.o.Cache.Resync }

// Name is the name of the program.
func (m *Manager) Name() string { return m.o.Name }

// Leading reports whether this process surely leads at this moment. Without Options.Leader it
// always does.
func (m *Manager) Leading() bool { return m.elector == nil || m.elector.State().Leading }

// Metrics is where a program registers metrics of its own, which are served with the others. The
// registry belongs to this manager alone. A collector that panics ends the process.
func (m *Manager) Metrics() prometheus.Registerer { return m.metrics.Registerer() }

// Gatherer yields all metrics, for those who read them otherwise than over HTTP.
func (m *Manager) Gatherer() prometheus.Gatherer { return m.metrics.Gatherer() }

// ControllerHooks implements controller.Instrumented.
func (m *Manager) ControllerHooks(name string, workers int) controller.Hooks {
	return m.metrics.Controller(name, workers)
}

// WebhookHooks are the hooks by which webhooks are counted.
func (m *Manager) WebhookHooks() webhook.Hooks { return m.metrics.Webhooks() }

// WebhookBudget bounds the memory for the bodies of all requests to webhooks; see Webhooks.Memory.
func (m *Manager) WebhookBudget() *webhook.Budget { return m.budget }
