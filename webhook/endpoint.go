package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Limits bound what a webhook takes from the network and from its handler; conversion has the same.
type Limits = review.Limits

// Hooks let others count requests; conversion has the same.
type Hooks = review.Hooks

// Call is one request that has been answered, for [Hooks].
type Call = review.Call

// Budget bounds the memory for the bodies of all requests to the endpoints that have it; conversion
// has the same.
type Budget = review.Budget

// NewBudget makes a budget of so many bytes. Zero: a share of the memory that the process may use; see
// [Budget]. Negative: no bound.
func NewBudget(bytes int64) *Budget { return review.NewBudget(bytes) }

// Options say how a webhook is served. The zero value works. They are read when it is made.
type Options struct {
	// Name in logs and hooks. Empty: the path.
	Name string
	// Kind of the objects. Empty: what the scheme has for the Go type. It must be set for
	// unstructured and metadata-only objects.
	Kind schema.GroupVersionKind
	// SubResources that a Defaulter or Validator is to see beside the object itself, such as
	// "status". What comes in must then be of the kind of the object: a request for another kind,
	// such as Scale, is allowed untouched, and so is every subresource that is not named here.
	SubResources []string
	Limits       Limits
	// Budget bounds the memory for bodies together with other endpoints. Nil: that of the manager, or
	// one of its own. Limits.Buffered goes before it.
	Budget *Budget
	Hooks  Hooks
	// Logger: nil is slog.Default().
	Logger *slog.Logger
}

// Handler decides on requests without their objects being decoded. Errors are no verdict: the
// answer is 500, and the API server does what the failurePolicy says; use [Denied] to refuse.
// ctx ends when there is no more time for an answer; a handler must then return. It is called from
// many goroutines at once.
type Handler interface {
	Handle(ctx context.Context, req *Request) (Response, error)
}

// HandlerFunc is a Handler that is one function.
type HandlerFunc func(ctx context.Context, req *Request) (Response, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) (Response, error) { return f(ctx, req) }

// Endpoint serves one admission webhook. All methods may be called from any goroutine.
type Endpoint struct {
	http     *review.Endpoint
	handler  Handler
	kind     schema.GroupVersionKind
	path     string
	mutating bool
}

// NewMutating serves a handler that may answer with a patch.
func NewMutating(h Handler, o Options) (*Endpoint, error) { return newEndpoint(h, o, "/mutate", true) }

// NewValidating serves a handler that only allows and denies. A patch from it is an error.
func NewValidating(h Handler, o Options) (*Endpoint, error) {
	return newEndpoint(h, o, "/validate", false)
}

func newEndpoint(h Handler, o Options, prefix string, mutating bool) (*Endpoint, error) {
	if h == nil {
		return nil, fmt.Errorf("webhook: there is no handler")
	}
	e := &Endpoint{handler: h, kind: o.Kind, mutating: mutating}
	if !o.Kind.Empty() {
		e.path = path(prefix, o.Kind)
	}
	if o.Name == "" {
		o.Name = e.path
	}
	if o.Name == "" {
		return nil, fmt.Errorf("webhook: Options.Name and Options.Kind are both empty")
	}
	o.Logger = logguard.Logger(o.Logger)
	e.http = review.NewEndpoint(e, review.Options{Name: o.Name, Logger: o.Logger, Limits: o.Limits, DefaultBody: 10 << 20, Hooks: o.Hooks, Budget: o.Budget})
	return e, nil
}

// ServeHTTP answers one AdmissionReview. It is safe against whatever comes in, and returns in
// bounded time; see [Limits].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.http.ServeHTTP(w, r) }

// Kind is the kind of the objects; empty for a handler of several.
func (e *Endpoint) Kind() schema.GroupVersionKind { return e.kind }

// Path is where the generated configuration expects the webhook: [MutatePath] or [ValidatePath] of
// the kind; empty if there is none.
func (e *Endpoint) Path() string { return e.path }

// Mutating reports whether the webhook belongs in a MutatingWebhookConfiguration.
func (e *Endpoint) Mutating() bool { return e.mutating }

// MutatePath is where the defaulter of a kind is served: "/mutate-shop-example-com-v1-order".
func MutatePath(kind schema.GroupVersionKind) string { return path("/mutate", kind) }

// ValidatePath is where the validator of a kind is served: "/validate-shop-example-com-v1-order".
func ValidatePath(kind schema.GroupVersionKind) string { return path("/validate", kind) }

func path(prefix string, kind schema.GroupVersionKind) string {
	return prefix + "-" + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}

// job is one request in work.
type job struct {
	e   *Endpoint
	req Request
	ctx requestContext
}

// Parse reads a review, for the endpoint beneath.
func (e *Endpoint) Parse(body []byte) (review.Job, *review.RefusalError) {
	j := &job{e: e}
	if no := j.req.parse(body, e.kind); no != nil {
		return nil, no
	}
	return j, nil
}

func (j *job) UID() string { return string(j.req.UID) }

func (j *job) Serve(ctx context.Context, out []byte) ([]byte, bool, error) {
	j.ctx = requestContext{ctx, &j.req}
	resp, err := j.e.handler.Handle(&j.ctx, &j.req)
	if err == nil && len(resp.Patch) > 0 {
		switch {
		case !j.e.mutating:
			err = errPatchOfValidating
		case !resp.Allowed:
			err = errPatchOfDenied
		}
	}
	if err != nil {
		return out, false, err
	}
	out, err = resp.append(out, &j.req)
	return out, !resp.Allowed, err
}

// Manager is all that webhooks use of the program that serves them. *flyball.Manager implements it.
type Manager interface {
	Scheme() *runtime.Scheme
	Logger() *slog.Logger
	// Handle serves h at a path of the webhook server.
	Handle(path string, h http.Handler) error
	// WebhookHooks are the default of Options.Hooks.
	WebhookHooks() Hooks
	// WebhookBudget is the default of Options.Budget. Nil: a budget for each endpoint.
	WebhookBudget() *Budget
}

// options takes the one Options of a variadic call, and fills in what the manager knows.
func options(mgr Manager, opts []Options) (Options, error) {
	var o Options
	switch len(opts) {
	case 0:
	case 1:
		o = opts[0]
	default:
		return o, fmt.Errorf("webhook: %d Options were given, want one at most", len(opts))
	}
	if o.Logger == nil {
		o.Logger = mgr.Logger()
	}
	if o.Budget == nil {
		o.Budget = mgr.WebhookBudget()
	}
	if o.Hooks.Started == nil && o.Hooks.Done == nil && o.Hooks.Lost == nil {
		o.Hooks = mgr.WebhookHooks()
	}
	return o, nil
}
