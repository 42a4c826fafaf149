package ctrl

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
)

// loadConfig returns the configuration that options name.
func loadConfig(o flyball.Options) (*rest.Config, error) {
	return client.Config(client.ConfigOptions{Kubeconfig: o.Kubeconfig, Context: o.Context})
}

// webhookServer is a webhook.Server of controller-runtime whose handlers Flyball serves.
type webhookServer struct {
	mgr *flyball.Manager
	mux *http.ServeMux // to be asked which paths are taken
}

func newWebhookServer(mgr *flyball.Manager) *webhookServer {
	return &webhookServer{mgr, http.NewServeMux()}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *webhookServer) NeedLeaderElection() bool { return false }

// Register implements webhook.Server. It panics if a path is taken.
func (s *webhookServer) Register(path string, hook http.Handler) {
	if err := s.register(path, hook); err != nil {
		panic(err)
	}
}

func (s *webhookServer) register(path string, hook http.Handler) error {
	handle := s.mgr.Handle
	if path == "/convert" {
		handle = func(path string, h http.Handler) error { return s.mgr.HandleConversion(path, h) }
	}
	if err := handle(path, hook); err != nil {
		return err
	}
	s.mux.Handle(path, hook)
	return nil
}

// Start implements webhook.Server. The server of the manager runs with it; Start only waits until ctx ends.
func (s *webhookServer) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

var errNotServing = errors.New("the webhook server does not listen")

// StartedChecker implements webhook.Server.
func (s *webhookServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if s.mgr.Addrs().Webhooks == nil {
			return errNotServing
		}
		return nil
	}
}

// WebhookMux implements webhook.Server. What is added to it, and not by Register, is not served.
func (s *webhookServer) WebhookMux() *http.ServeMux { return s.mux }
