package convert

import (
	"fmt"
	"log/slog"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Path is where all conversion of a program is served.
const Path = "/convert"

// Limits bound what the webhook takes from the network and from conversion functions.
type Limits = review.Limits

// Hooks let others count reviews; a review that fails is a denied call.
type Hooks = review.Hooks

// Call is one review that has been answered, for [Hooks].
type Call = review.Call

// Options say how conversion is served. The zero value works. They are read by [New].
type Options struct {
	// Name in logs and hooks. Empty: [Path].
	Name   string
	Limits Limits
	// Budget bounds the memory for bodies and answers together with other endpoints; see
	// webhook.Budget. Nil: that of the manager, or one of its own. Limits.Buffered goes before it.
	Budget *review.Budget
	Hooks  Hooks
	// Logger: nil is slog.Default().
	Logger *slog.Logger
}

// Endpoint converts. It may be called from any goroutine.
type Endpoint struct {
	http  *review.Endpoint
	table table
}

// New makes the http.Handler that converts what the parts say, any number of kinds. The scheme says
// which kind and version each type is. What does not fit together is an error, all of it in one:
// a kind without a hub or with two, a version that is there twice, a spoke of another hub, a type
// that the scheme does not have. A hub alone is fine: the other versions are still to come.
func New(s *runtime.Scheme, o Options, parts ...Part) (*Endpoint, error) {
	t, err := newTable(s, parts)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = Path
	}
	o.Logger = logguard.Logger(o.Logger)
	e := &Endpoint{table: t}
	e.http = review.NewEndpoint(e, review.Options{Name: o.Name, Logger: o.Logger, Limits: o.Limits, DefaultBody: 64 << 20, Hooks: o.Hooks, Budget: o.Budget, AnswersBodies: true})
	return e, nil
}

// ServeHTTP answers one ConversionReview. It is safe against whatever comes in, and returns in
// bounded time; see [Limits].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.http.ServeHTTP(w, r) }

// Converts are the kinds whose versions are converted, in no order: those with more than one.
func (e *Endpoint) Converts() []schema.GroupKind {
	var all []schema.GroupKind
	for kind, versions := range e.table {
		if len(versions) > 1 {
			all = append(all, kind)
		}
	}
	return all
}

// Manager is all that conversion uses of the program that serves it. *flyball.Manager implements it.
type Manager interface {
	Scheme() *runtime.Scheme
	Logger() *slog.Logger
	// Handle serves h at a path of the webhook server.
	Handle(path string, h http.Handler) error
	// HandleConversion serves h at a path of the webhook server, and takes note that it converts the kinds.
	HandleConversion(path string, h http.Handler, kinds ...schema.GroupKind) error
	// WebhookHooks are the default of Options.Hooks.
	WebhookHooks() Hooks
	// WebhookBudget is the default of Options.Budget. Nil: a budget for each endpoint.
	WebhookBudget() *review.Budget
}

// Serve serves conversion at [Path]. It is called once, with the parts of all kinds.
func Serve(mgr Manager, parts ...Part) error { return ServeWith(mgr, Options{}, parts...) }

// ServeWith is [Serve] with options. Logger, Hooks and Budget are the manager's where they are empty.
func ServeWith(mgr Manager, o Options, parts ...Part) error {
	if o.Logger == nil {
		o.Logger = mgr.Logger()
	}
	if o.Hooks.Started == nil && o.Hooks.Done == nil && o.Hooks.Lost == nil {
		o.Hooks = mgr.WebhookHooks()
	}
	if o.Budget == nil {
		o.Budget = mgr.WebhookBudget()
	}
	e, err := New(mgr.Scheme(), o, parts...)
	if err != nil {
		return err
	}
	if kinds := e.Converts(); len(kinds) > 0 {
		err = mgr.HandleConversion(Path, e, kinds...)
	} else {
		err = mgr.Handle(Path, e)
	}
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	return nil
}
