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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
)

// ErrRunning says that Run was called while the manager runs.
var ErrRunning = errors.New("manager runs already")

const defaultGrace = 30 * time.Second

// Options say how a manager is made. The zero value works wherever kubectl or a Pod with a
// service account works. They are read by [New], once.
type Options struct {
	// Name of the program, in its field ownership, its events and its requests. Empty: the name
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
	// Namespace restricts what controllers watch, and what is cached, to one namespace;
	// cluster-scoped kinds are not affected. Empty: all.
	Namespace string
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
	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
	// Hooks let others count what happens.
	Hooks Hooks
}

// Hooks are called as things happen; nil ones are skipped. They must not block.
type Hooks struct {
	// LiveRead is called when [Manager.Client] read an object of this Go type from the server, as
	// nobody has opened its kind in the cache.
	LiveRead func(goType string)
}

// Manager holds what the controllers of a program share, and runs them. All methods may be called
// from any goroutine.
type Manager struct {
	o      Options
	logger *slog.Logger
	live   *client.Live
	cache  *cache.Cache
	client client.Client

	life life
}

var _ controller.Manager = (*Manager)(nil)

// New makes a manager. It reads the configuration but does not talk to the server, which Run
// does first. Errors are those of client.Config and client.New.
func New(o Options) (*Manager, error) {
	if o.Name == "" {
		o.Name = filepath.Base(os.Args[0])
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
	live, err := client.New(o.Config, o.Client)
	if err != nil {
		return nil, err
	}
	m := &Manager{o: o, logger: o.Logger, live: live, life: life{logger: o.Logger}}
	if m.cache, err = newCache(o, live); err != nil {
		return nil, err
	}
	m.client = &reads{Client: live, live: live, cache: m.cache, onLive: o.Hooks.LiveRead}
	return m, nil
}

// Client reads from the cache what is cached, that is the kinds that controllers watch and those
// that were opened in [Manager.Cache], and everything else from the server. It writes to the
// server. A read of a kind that has not synced yet is an error, never an empty answer.
func (m *Manager) Client() client.Client { return m.client }

// Live reads from and writes to the server.
func (m *Manager) Live() *client.Live { return m.live }

// Cache is where kinds are opened and indexes are declared. It runs while the manager does.
func (m *Manager) Cache() *cache.Cache { return m.cache }

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
