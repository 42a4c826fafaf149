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

// webhooks are the handlers of the webhook server.
type webhooks struct {
	mux *http.ServeMux

	mu          sync.Mutex
	paths       map[string]bool
	converted   map[schema.GroupKind]bool
	convertsAll bool // every custom kind
}

func newWebhooks() *webhooks {
	return &webhooks{mux: http.NewServeMux(), paths: map[string]bool{}, converted: map[schema.GroupKind]bool{}}
}

// Handle serves h at a path of the webhook server, such as "/validate-shop-example-com-v1-order"; see
// Options.Webhooks. It may be called while the manager runs. The error is an *[option.Error]: a path is
// absolute, in its shortest form, without a pattern, and has one handler.
//
// A webhook that converts is served by [Manager.HandleConversion].
func (m *Manager) Handle(path string, h http.Handler) error {
	return m.serveWebhook(path, h, false, nil)
}

// HandleConversion is [Manager.Handle] for a webhook that converts between the versions of kinds. The kinds
// do not keep the manager from being ready while they cannot be listed; see [Manager.Ready]. Without kinds
// that holds for every custom kind. convert.Serve calls it.
func (m *Manager) HandleConversion(path string, h http.Handler, kinds ...schema.GroupKind) error {
	return m.serveWebhook(path, h, len(kinds) == 0, kinds)
}

func (m *Manager) serveWebhook(path string, h http.Handler, convertsAll bool, converts []schema.GroupKind) error {
	if err := m.webhooks.handle(path, h, convertsAll, converts); err != nil {
		return &option.Error{Of: "flyball.Manager.Handle", Field: fmt.Sprintf("path %q", path), Err: err}
	}
	m.metrics.Webhook(path)
	return nil
}

func (w *webhooks) handle(path string, h http.Handler, convertsAll bool, converts []schema.GroupKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !validPath(path):
		return errors.New("a path is absolute, and has no pattern in it")
	case h == nil:
		return errors.New("handler is nil")
	case w.paths[path]:
		return errors.New("has a handler already")
	}
	w.paths[path] = true
	w.convertsAll = w.convertsAll || convertsAll
	for _, kind := range converts {
		w.converted[kind] = true
	}
	w.mux.Handle(path, h)
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
	return w.convertsAll && kind.Group != "" || w.converted[kind]
}

// count is the number of paths that have a handler.
func (w *webhooks) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.paths)
}
