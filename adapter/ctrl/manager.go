package ctrl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/option"
)

// Manager is a manager.Manager of controller-runtime that is one of Flyball. What is built for it, by
// ctrl.NewControllerManagedBy for instance, runs unchanged: with the queue and the retries of
// controller-runtime, over the packed cache, the lease and the servers of Flyball. The metrics of such controllers
// are in metrics.Registry of controller-runtime. They have the names that Flyball's have, so that one page cannot
// show both: a program serves that registry by a runnable of its own.
type Manager struct {
	// Flyball is the manager itself, for controllers of Flyball: beside the others they share its cache.
	Flyball *flyball.Manager

	config     *rest.Config
	http       *http.Client
	cache      *Cache
	elected    chan struct{}
	webhooks   *webhookServer
	converters conversion.Registry
	defaults   crconfig.Controller

	mu   sync.Mutex
	adds int
}

var _ manager.Manager = (*Manager)(nil)

// NewManager is ctrl.NewManager of controller-runtime, for a manager of Flyball:
//
//	mgr, err := flyctrl.NewManager(ctrl.GetConfigOrDie(), flyball.Options{Scheme: scheme})
//	err = (&WebsiteReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}).SetupWithManager(mgr)
//	err = mgr.Start(ctrl.SetupSignalHandler())
//
// A nil cfg is the configuration that the options name. Errors are those of flyball.New.
func NewManager(cfg *rest.Config, o flyball.Options) (*Manager, error) {
	if cfg != nil {
		if o.Config != nil && o.Config != cfg {
			return nil, &option.Error{Of: "flyball.Options", Field: "Config", Err: errors.New("is given twice: as an argument of NewManager, too")}
		}
		o.Config = cfg
	}
	fly, err := flyball.New(o)
	if err != nil {
		return nil, err
	}
	if o.Config == nil { // after New, which looks at a kubeconfig that it has read itself
		if o.Config, err = loadConfig(o); err != nil {
			return nil, err
		}
	}
	h, err := rest.HTTPClientFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	m := &Manager{
		Flyball: fly, config: o.Config, http: h, elected: make(chan struct{}),
		webhooks: newWebhookServer(fly), converters: conversion.NewRegistry(),
		defaults: crconfig.Controller{Logger: Logger(fly)},
	}
	if m.cache, err = NewCache(fly); err != nil {
		return nil, err
	}
	elected := sync.OnceFunc(func() { close(m.elected) })
	_, err = fly.Add(flyball.Lead, "controller-runtime's elected", func(context.Context) error { elected(); return nil })
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Start implements manager.Manager: it runs the manager of Flyball until ctx ends; see flyball.Manager.Run.
func (m *Manager) Start(ctx context.Context) error {
	defer m.http.CloseIdleConnections()
	return m.Flyball.Run(ctx)
}

// Add implements manager.Manager. The runnable runs in the phase Lead, or in Always if its NeedLeaderElection
// returns false. Another cluster runs in Sync.
func (m *Manager) Add(r manager.Runnable) error {
	if r == nil {
		return &option.Error{Of: "ctrl.Manager.Add", Field: "runnable", Err: errors.New("is nil")}
	}
	if r == manager.Runnable(m.webhooks) {
		return nil // it runs with the manager
	}
	m.mu.Lock()
	m.adds++
	name := fmt.Sprintf("controller-runtime's %T %d", r, m.adds)
	m.mu.Unlock()
	phase := flyball.Lead
	if l, ok := r.(manager.LeaderElectionRunnable); ok && !l.NeedLeaderElection() {
		phase = flyball.Always
	}
	if _, ok := r.(interface{ GetCache() crcache.Cache }); ok {
		phase = flyball.Sync
	}
	if w, ok := r.(interface{ Warmup(context.Context) error }); ok && phase == flyball.Lead {
		if _, err := m.Flyball.Add(flyball.Always, name+" warmup", w.Warmup); err != nil {
			return err
		}
	}
	_, err := m.Flyball.Add(phase, name, r.Start)
	return err
}

// Elected implements manager.Manager.
func (m *Manager) Elected() <-chan struct{} { return m.elected }

// AddMetricsServerExtraHandler implements manager.Manager: it is an error. Flyball serves metrics, and the pages
// of Options.Debug, beside them and nothing else.
func (m *Manager) AddMetricsServerExtraHandler(path string, _ http.Handler) error {
	return fmt.Errorf("ctrl: the metrics server of Flyball takes no handler for %s: add a runnable that serves it", path)
}

// AddHealthzCheck implements manager.Manager.
func (m *Manager) AddHealthzCheck(name string, check healthz.Checker) error {
	_, err := m.Flyball.Health().Add(name, asked("/healthz/"+name, check))
	return err
}

// AddReadyzCheck implements manager.Manager.
func (m *Manager) AddReadyzCheck(name string, check healthz.Checker) error {
	_, err := m.Flyball.Ready().Add(name, asked("/readyz/"+name, check))
	return err
}

// asked makes a check of a function of requests. A nil function stays nil.
func asked(path string, check healthz.Checker) func(context.Context) error {
	if check == nil {
		return nil
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		return check(req)
	}
}

// GetWebhookServer implements manager.Manager. Its handlers are served by Flyball; see Options.Webhooks.
func (m *Manager) GetWebhookServer() crwebhook.Server { return m.webhooks }

// GetLogger implements manager.Manager.
func (m *Manager) GetLogger() logr.Logger { return Logger(m.Flyball) }

// GetControllerOptions implements manager.Manager.
func (m *Manager) GetControllerOptions() crconfig.Controller { return m.defaults }

// GetConverterRegistry implements manager.Manager.
func (m *Manager) GetConverterRegistry() conversion.Registry { return m.converters }

// GetHTTPClient implements cluster.Cluster. Its requests are neither fenced nor counted.
func (m *Manager) GetHTTPClient() *http.Client { return m.http }

// GetConfig implements cluster.Cluster.
func (m *Manager) GetConfig() *rest.Config { return m.config }

// GetCache implements cluster.Cluster.
func (m *Manager) GetCache() crcache.Cache { return m.cache }

// GetScheme implements cluster.Cluster.
func (m *Manager) GetScheme() *runtime.Scheme { return m.Flyball.Scheme() }

// GetClient implements cluster.Cluster; see [NewClient].
func (m *Manager) GetClient() crclient.Client { return NewClient(m.Flyball) }

// GetFieldIndexer implements cluster.Cluster.
func (m *Manager) GetFieldIndexer() crclient.FieldIndexer { return m.cache }

// GetRESTMapper implements cluster.Cluster.
func (m *Manager) GetRESTMapper() meta.RESTMapper { return m.Flyball.Mapper() }

// GetAPIReader implements cluster.Cluster.
func (m *Manager) GetAPIReader() crclient.Reader { return NewAPIReader(m.Flyball) }

// GetEventRecorderFor implements recorder.Provider; see [NewEventRecorderFor].
func (m *Manager) GetEventRecorderFor(string) record.EventRecorder {
	return NewEventRecorderFor(m.Flyball)
}

// GetEventRecorder implements recorder.Provider; see [NewEventRecorder].
func (m *Manager) GetEventRecorder(string) crrecorder.EventRecorder {
	return NewEventRecorder(m.Flyball)
}
