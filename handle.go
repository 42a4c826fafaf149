package flyball

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/option"
)

// pathMux has a handler for each of its paths.
type pathMux struct {
	mux *http.ServeMux

	mu    sync.Mutex
	paths map[string]bool
}

func newPathMux() *pathMux { return &pathMux{mux: http.NewServeMux(), paths: map[string]bool{}} }

// webhooks are the handlers of the webhook server.
type webhooks struct {
	*pathMux
	converted map[schema.GroupKind]bool // an empty one stands for every custom kind
}

// HandlePage serves h at a path beside the metrics, such as "/orders", behind the same authorization; see
// Options.Metrics. A role allows it as one of its nonResourceURLs. A path that ends with a slash stands for
// all paths below. It may be called while the manager runs. Errors are those of [Manager.Handle]; /metrics is
// taken, and with Options.Debug /debug/, but not the paths below it.
func (m *Manager) HandlePage(path string, h http.Handler) error {
	return badPath("HandlePage", path, m.pageMux.handle(path, strings.TrimSuffix(path, "/"), h))
}

// Handle serves h at a path of the webhook server, such as "/validate-shop-example-com-v1-order"; see
// Options.Webhooks. It may be called while the manager runs. The error is an *[option.Error]: a path is
// absolute, in its shortest form, without a pattern, and has one handler.
//
// A webhook that converts is served by [Manager.HandleConversion].
func (m *Manager) Handle(path string, h http.Handler) error {
	return m.serveWebhook(path, h, nil)
}

// HandleConversion is [Manager.Handle] for a webhook that converts between the versions of kinds. The kinds
// do not keep the manager from being ready while they cannot be listed; see [Manager.Ready]. Without kinds
// that holds for every custom kind. convert.Serve calls it.
func (m *Manager) HandleConversion(path string, h http.Handler, kinds ...schema.GroupKind) error {
	if len(kinds) == 0 {
		kinds = []schema.GroupKind{{}}
	}
	return m.serveWebhook(path, h, kinds)
}

// WebhookHandler serves what [Manager.Handle] and [Manager.HandleConversion] have got, without a server: for a test that
// calls webhooks itself.
func (m *Manager) WebhookHandler() http.Handler { return m.webhooks.mux }

func (m *Manager) serveWebhook(path string, h http.Handler, converts []schema.GroupKind) error {
	w := m.webhooks
	if err := w.handle(path, path, h); err != nil {
		return badPath("Handle", path, err)
	}
	w.mu.Lock()
	for _, kind := range converts {
		w.converted[kind] = true
	}
	w.mu.Unlock()
	m.metrics.Webhook(path)
	return nil
}

// badPath is the error for an argument of a method.
func badPath(method, path string, err error) error {
	if err == nil {
		return nil
	}
	return &option.Error{Of: "flyball.Manager." + method, Field: fmt.Sprintf("path %q", path), Err: err}
}

// handle adds a handler. clean is what must be a valid path of path.
func (p *pathMux) handle(path, clean string, h http.Handler) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !validPath(clean):
		return errors.New("a path is absolute, and has no pattern in it")
	case h == nil:
		return errors.New("handler is nil")
	case p.paths[path]:
		return errors.New("has a handler already")
	}
	p.paths[path] = true
	p.mux.Handle(path, h)
	return nil
}

// validPath reports whether a mux takes the path literally.
func validPath(p string) bool {
	return strings.HasPrefix(p, "/") && p != "/" && path.Clean(p) == p && !strings.ContainsAny(p, "{} ")
}

// converts reports whether this program converts a kind.
func (w *webhooks) converts(kind schema.GroupKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return kind.Group != "" && w.converted[schema.GroupKind{}] || w.converted[kind]
}

// count is the number of paths that have a handler.
func (w *webhooks) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.paths)
}
