package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Limits bounds the requests and handlers of a webhook. Package convert uses the same type.
type Limits = review.Limits

// Hooks are callbacks for metrics. Package convert uses the same type.
type Hooks = review.Hooks

// Call describes one answered request, for [Hooks].
type Call = review.Call

// Budget bounds the memory for the large request bodies of all endpoints that share it. Package convert
// uses the same type.
type Budget = review.Budget

// NewBudget returns a budget of the given size in bytes. Zero means 256 MiB, or a quarter of GOMEMLIMIT if that is less,
// but at least 16 MiB. Negative means no bound.
func NewBudget(bytes int64) *Budget { return review.NewBudget(bytes) }

// Options configures a webhook. The zero value works. The constructor reads the options once.
type Options struct {
	// Name is used in logs and hooks. Empty means the path.
	Name string
	// Kind is the kind of the objects. Empty means the kind that the scheme has for the Go type. It
	// must be set for unstructured and metadata-only objects.
	Kind schema.GroupVersionKind
	// SubResources are the subresources that a Defaulter or Validator handles beside the object
	// itself, such as "status". Their requests must carry the object's own kind: a request for
	// another kind, such as Scale, is allowed unchanged. A subresource that is not listed is
	// allowed unchanged, too.
	SubResources []string
	Limits       Limits
	// Budget bounds the memory for large bodies, shared with other endpoints. Nil means the manager's
	// budget, or a new one without a manager.
	Budget *Budget
	Hooks  Hooks
	// Logger receives the logs. Nil means slog.Default().
	Logger *slog.Logger
}

// Handler decides on a request without decoding its objects. An error is not a verdict: the answer
// is 500, and the API server applies the failurePolicy. Use [Denied] to reject an object.
//
// ctx ends when the time for an answer is over; the handler must then return. It is called from many
// goroutines at once.
type Handler func(ctx context.Context, req *Request) (Response, error)

// Endpoint serves one admission webhook. All methods are safe for concurrent use.
type Endpoint struct {
	http     *review.Endpoint
	handler  Handler
	kind     schema.GroupVersionKind
	path     string
	mutating bool
}

// NewMutating returns an endpoint for a handler that may answer with a patch.
func NewMutating(h Handler, o Options) (*Endpoint, error) { return newEndpoint(h, o, "/mutate", true) }

// NewValidating returns an endpoint for a handler that only allows and denies. A patch from it is
// an error.
func NewValidating(h Handler, o Options) (*Endpoint, error) {
	return newEndpoint(h, o, "/validate", false)
}

func newEndpoint(h Handler, o Options, prefix string, mutating bool) (*Endpoint, error) {
	if h == nil {
		return nil, &option.Error{Of: "webhook.NewMutating, webhook.NewValidating", Field: "handler", Err: errors.New("is nil")}
	}
	e := &Endpoint{handler: h, kind: o.Kind, mutating: mutating}
	if !o.Kind.Empty() {
		e.path = path(prefix, o.Kind)
	}
	o.Name = cmp.Or(o.Name, e.path)
	if o.Name == "" {
		return nil, &option.Error{Of: "webhook.Options", Field: "Name, Kind", Err: errors.New("are both empty")}
	}
	o.Logger = logguard.Logger(o.Logger)
	e.http = review.NewEndpoint(review.Options{Parse: e.parse, Name: o.Name, Logger: o.Logger, Limits: o.Limits, DefaultBody: 10 << 20, Hooks: o.Hooks, Budget: o.Budget})
	return e, nil
}

// ServeHTTP answers one AdmissionReview. It handles any input safely. [Limits] bound the wait for the
// body and for the handler; the server bounds the write of the answer.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.http.ServeHTTP(w, r) }

// Kind returns the kind of the objects. It is empty for a handler of several kinds.
func (e *Endpoint) Kind() schema.GroupVersionKind { return e.kind }

// Path returns the path that the generated configuration uses: [MutatePath] or [ValidatePath] of
// the kind. It is empty if Kind is empty.
func (e *Endpoint) Path() string { return e.path }

// Mutating reports whether the webhook belongs in a MutatingWebhookConfiguration.
func (e *Endpoint) Mutating() bool { return e.mutating }

// MutatePath returns the path of the defaulter of a kind, such as
// "/mutate-shop-example-com-v1-order".
func MutatePath(kind schema.GroupVersionKind) string { return path("/mutate", kind) }

// ValidatePath returns the path of the validator of a kind, such as
// "/validate-shop-example-com-v1-order".
func ValidatePath(kind schema.GroupVersionKind) string { return path("/validate", kind) }

func path(prefix string, kind schema.GroupVersionKind) string {
	return prefix + "-" + strings.ReplaceAll(kind.Group, ".", "-") + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}

// job is one request that is being served.
type job struct {
	e   *Endpoint
	req Request
	ctx requestContext
}

func (e *Endpoint) parse(body []byte) (review.Job, *review.RefusalError) {
	j := &job{e: e}
	if no := j.req.parse(body, e.kind); no != nil {
		return nil, no
	}
	return j, nil
}

func (j *job) UID() string { return string(j.req.UID) }

func (j *job) Serve(ctx context.Context, out []byte) ([]byte, bool, error) {
	j.ctx = requestContext{ctx, &j.req}
	resp, err := j.e.handler(&j.ctx, &j.req)
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
	// Handle registers h at a path of the webhook server.
	Handle(path string, h http.Handler) error
	// WebhookHooks are the default of Options.Hooks.
	WebhookHooks() Hooks
	// WebhookBudget is the default of Options.Budget. Nil: a budget for each endpoint.
	WebhookBudget() *Budget
}

// register makes an endpoint with the one Options of a variadic call, completed by what the manager
// knows, and registers it.
func register(mgr Manager, opts []Options, make func(Options) (*Endpoint, error)) error {
	if len(opts) > 1 {
		return fmt.Errorf("webhook: %d Options were given, want one at most", len(opts))
	}
	o := append(opts, Options{})[0]
	o.Logger = cmp.Or(o.Logger, mgr.Logger())
	o.Budget = cmp.Or(o.Budget, mgr.WebhookBudget())
	if o.Hooks.Started == nil && o.Hooks.Done == nil && o.Hooks.Lost == nil {
		o.Hooks = mgr.WebhookHooks()
	}
	e, err := make(o)
	if err != nil {
		return err
	}
	return mgr.Handle(e.path, e)
}
