package flyball

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PathError says that [Manager.Handle] cannot serve a path.
type PathError struct {
	Path string
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("webhook path %q: %s", e.Path, e.Err) }

// Unwrap returns what is wrong with it.
func (e *PathError) Unwrap() error { return e.Err }

var (
	// ErrPath says that a path does not begin with a slash, or is not in its shortest form.
	ErrPath = errors.New("a path is absolute, and has no pattern in it")
	// ErrPathTaken says that a path has a handler already.
	ErrPathTaken = errors.New("has a handler already")
	// ErrNoHandler says that a path was given no handler.
	ErrNoHandler = errors.New("handler is nil")
)

// webhooks are the handlers that a manager was given.
type webhooks struct {
	mux *http.ServeMux

	mu          sync.Mutex
	paths       map[string]bool
	converted   map[schema.GroupKind]bool
	convertsAll bool
}

func newWebhooks() *webhooks {
	return &webhooks{mux: http.NewServeMux(), paths: map[string]bool{}, converted: map[schema.GroupKind]bool{}}
}

// Handle serves h at a path of the webhook server, "/validate-shop-example-com-v1-order"; see
// Options.Webhooks. It may be called while the manager runs. The error is a *[PathError].
//
// A handler of conversion has a method Converts() []schema.GroupKind, as *convert.Endpoint does:
// these kinds do not keep the manager from being ready while they cannot be listed, see
// [Manager.Ready]. One at /convert that has no such method counts as one for all custom kinds.
func (m *Manager) Handle(path string, h http.Handler) error {
	if err := m.webhooks.handle(path, h); err != nil {
		return &PathError{path, err}
	}
	m.metrics.Webhook(path)
	return nil
}

func (w *webhooks) handle(path string, h http.Handler) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !validPath(path):
		return ErrPath
	case h == nil:
		return ErrNoHandler
	case w.paths[path]:
		return ErrPathTaken
	}
	w.paths[path] = true
	w.convertsLocked(path, h)
	w.mux.Handle(path, h)
	return nil
}

// validPath reports whether a path means itself to a mux.
func validPath(p string) bool {
	return strings.HasPrefix(p, "/") && p != "/" && path.Clean(p) == p && !strings.ContainsAny(p, "{} ")
}

// count is the number of paths that have a handler.
func (w *webhooks) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.paths)
}
