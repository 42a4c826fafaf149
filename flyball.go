// Package flyball is the front door of the framework: a [Manager] holds what the controllers of
// one program share, starts everything in order and stops it in reverse.
//
//	mgr, err := flyball.New(flyball.Options{})       reads the configuration, starts nothing
//	controller.New(mgr, "name", reconciler, …)       checks, and joins the manager
//	err = mgr.Run(flyball.SignalContext())
//
//	      ┌── Serve ──►  ┌── Sync ──►  ┌── Lead ──►           ctx ends, or something fails
//	      │ servers      │ caches      │ controllers,  ─────────────┐
//	      │              │             │ other runners              ▼
//	      ◄── stops third ◄── second ──◄── stops first: no new work, running reconciles finish
//	                                       within the grace period
//
// Nothing is global: a program may have several managers, for several clusters too, and each may
// run again after it stopped.
package flyball

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/informer"
)

// ErrRunning says that Run was called while the manager runs.
var ErrRunning = errors.New("manager runs already")

const defaultGrace = 30 * time.Second

// Options say how a manager is made. The zero value works wherever kubectl or a Pod with a
// service account works. They are read by [New], once.
type Options struct {
	// Name of the program, as the owner of the fields it sets and the reporter of its events: a
	// name, with or without a domain before it, such as "example.org/podscaler". Empty: the name
	// of the executable.
	Name string
	// Config of the cluster, with credentials. Nil: what Kubeconfig and Context name.
	Config *rest.Config
	// Kubeconfig and Context say where the configuration is. Empty: $KUBECONFIG, ~/.kube/config,
	// or the service account of the Pod, the first that is there; and its current context.
	Kubeconfig, Context string
	// Scheme knows the Go types. Nil: a new one with all built-in kinds. It must not change after
	// New.
	Scheme *runtime.Scheme
	// Cache are options of the cache: the namespaces that are watched, selections and transforms
	// of single kinds. Logger is filled in where it is empty.
	Cache cache.Options
	// Client are options of the client. Scheme, UserAgent, FieldOwner and Logger are filled in
	// where they are empty.
	Client client.Options
	// GracePeriod is how long reconciles may go on after the program was told to stop. Zero:
	// 30 s, as long as a Pod has by default. Negative: none.
	GracePeriod time.Duration
	// SyncTimeout is how long Run waits, before it starts controllers and other runners, for the
	// kinds that were opened in the cache before it. Zero: 2 minutes. Negative: not at all. It
	// does not wait for a kind that something is known to keep, and never for the kinds of
	// controllers, each of which waits for its own.
	SyncTimeout time.Duration
	// Events bound what the recorder of events sends. The zero value means its defaults.
	Events event.Limits
	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
	// Hooks let others count what happens.
	Hooks Hooks
}

// Hooks are called as things happen; nil ones are skipped. They must not block.
type Hooks struct {
	// LiveRead is called when [Manager.Client] reads from the server since the cache has nothing to
	// answer from: nobody has opened the kind there, or it was never let see it.
	LiveRead func(schema.GroupVersionKind)
}

// Manager holds what the controllers of a program share, and runs them. All methods may be called
// from any goroutine.
type Manager struct {
	o      Options
	logger *slog.Logger
	live   *client.Live
	cache  *cache.Cache
	client client.Client
	events *event.Recorder

	life life
}

var _ controller.Manager = (*Manager)(nil)

// New makes a manager. It reads the configuration but does not talk to the server, which Run
// does first. Errors are those of client.Config, client.New, cache.New and event.New.
func New(o Options) (*Manager, error) {
	if o.Name == "" {
		o.Name = executable()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.GracePeriod == 0:
		o.GracePeriod = defaultGrace
	case o.GracePeriod < 0:
		o.GracePeriod = 0
	}
	if o.SyncTimeout == 0 {
		o.SyncTimeout = 2 * time.Minute
	}
	if o.Config == nil {
		cfg, err := client.Config(client.ConfigOptions{Kubeconfig: o.Kubeconfig, Context: o.Context})
		if err != nil {
			return nil, err
		}
		o.Config = cfg
	}
	if o.Client.Scheme == nil {
		o.Client.Scheme = o.Scheme
	}
	if o.Client.FieldOwner == "" {
		o.Client.FieldOwner = o.Name
	}
	if o.Client.Logger == nil {
		o.Client.Logger = o.Logger
	}
	if o.Cache.Logger == nil {
		o.Cache.Logger = o.Logger
	}
	live, err := client.New(o.Config, o.Client)
	if err != nil {
		return nil, err
	}
	m := &Manager{o: o, logger: o.Logger, live: live, life: life{logger: o.Logger}}
	if m.cache, err = cache.New(informer.Connect(live), o.Cache); err != nil {
		return nil, err
	}
	m.events, err = event.New(live, event.Options{Controller: o.Name, Limits: o.Events, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	m.client = &reads{Client: live, live: live, cache: m.cache, onLive: o.Hooks.LiveRead}
	// Controllers write events until their last reconcile has ended, so the recorder outlives them.
	for _, own := range []struct {
		phase Phase
		name  string
		r     controller.Runner
	}{{Serve, "event recorder", m.events}, {Sync, "cache", m.cache}} {
		if _, err := m.life.add(own.phase, own.name, own.r); err != nil {
			return nil, err
		}
	}
	m.life.settled = m.settled
	return m, nil
}

// executable is the name of the program, cut down to what a field owner and reporter may be.
func executable() string {
	name := strings.TrimFunc(filepath.Base(os.Args[0]), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	if len(validation.IsQualifiedName(name)) > 0 {
		return "flyball"
	}
	return name
}

// Client reads from the cache what is cached, that is the kinds that controllers watch and those
// that were opened in [Manager.Cache], and everything else from the server. It writes to the
// server. A read of a kind that has not synced yet is an error, never an empty answer; but one
// that the cache may not list, or that is not served, and that has never synced, is read from the
// server: that somebody opened it in vain takes nothing from those who may get single objects.
// What Options.Cache restricts by selectors is never read so, nor all of it by a cache of some
// namespaces.
func (m *Manager) Client() client.Client { return m.client }

// Live reads from and writes to the server.
func (m *Manager) Live() *client.Live { return m.live }

// Cache is where kinds are opened and indexes are declared. It runs while the manager does.
func (m *Manager) Cache() *cache.Cache { return m.cache }

// Events records Kubernetes Events, for people to read; it never blocks. They are sent while the
// manager runs.
func (m *Manager) Events() *event.Recorder { return m.events }

// Scheme knows the Go types of the kinds.
func (m *Manager) Scheme() *runtime.Scheme { return m.live.Scheme() }

// Mapper knows which resource serves a kind.
func (m *Manager) Mapper() meta.RESTMapper { return m.live.Mapper() }

// Logger is where controllers log that have no logger of their own.
func (m *Manager) Logger() *slog.Logger { return m.logger }

// GracePeriod is how long running reconciles may go on after Run was told to stop.
func (m *Manager) GracePeriod() time.Duration { return m.o.GracePeriod }

// Name is the name of the program.
func (m *Manager) Name() string { return m.o.Name }
