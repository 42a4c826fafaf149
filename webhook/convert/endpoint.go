package convert

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/webhook"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Path is the path of the conversion webhook, for all kinds of a program.
const Path = "/convert"

// Options configures conversion. The zero value works. [New] reads the options once.
type Options struct {
	// Name is used in logs and hooks. Empty means [Path].
	Name   string
	Limits webhook.Limits
	// DropUnknown converts objects with fields that the Go type of their version does not have, without
	// those fields. Else the conversion fails and names them.
	DropUnknown bool
	// Budget bounds the memory for large bodies and their answers, shared with other endpoints. Nil means the manager's
	// budget, or a new one without a manager.
	Budget *webhook.Budget
	// Hooks are callbacks for metrics. A review that fails counts as a denied call.
	Hooks webhook.Hooks
	// Logger receives the logs. Nil means slog.Default().
	Logger *slog.Logger
}

// Endpoint is the handler of the conversion webhook. It is safe for concurrent use.
type Endpoint struct {
	http  *review.Endpoint
	table table
	drop  bool // Options.DropUnknown
}

// New returns the http.Handler that converts between the given parts, of any number of kinds. The
// scheme maps each type to its kind and version. The error joins all inconsistencies:
//
//   - a kind without a hub or with two
//   - a duplicate version
//   - a spoke of another hub
//   - a type that the scheme does not have
//
// A hub without spokes is valid.
func New(s *runtime.Scheme, o Options, parts ...Part) (*Endpoint, error) {
	t, err := newTable(s, parts)
	if err != nil {
		return nil, err
	}
	o.Name = cmp.Or(o.Name, Path)
	o.Logger = logguard.Logger(o.Logger)
	e := &Endpoint{table: t, drop: o.DropUnknown}
	e.http = review.NewEndpoint(review.Options{Parse: e.parse, Name: o.Name, Logger: o.Logger, Limits: o.Limits, DefaultBody: 64 << 20, Hooks: o.Hooks, Budget: o.Budget, AnswersBodies: true})
	return e, nil
}

// ServeHTTP answers one ConversionReview. It handles any input safely. [webhook.Limits] bound the wait for
// the body and for the handler; the server bounds the write of the answer.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.http.ServeHTTP(w, r) }

// Converts returns the kinds that have more than one version, in no order.
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
	// Handle registers h at a path of the webhook server.
	Handle(path string, h http.Handler) error
	// HandleConversion serves h at a path of the webhook server, and takes note that it converts the kinds.
	HandleConversion(path string, h http.Handler, kinds ...schema.GroupKind) error
	// WebhookHooks are the default of Options.Hooks.
	WebhookHooks() webhook.Hooks
	// WebhookBudget is the default of Options.Budget. Nil: a budget for each endpoint.
	WebhookBudget() *webhook.Budget
}

// Serve registers conversion with the manager, at [Path]. Call it once, with the parts of all
// kinds.
func Serve(mgr Manager, parts ...Part) error { return ServeWith(mgr, Options{}, parts...) }

// ServeWith is [Serve] with options. An empty Logger, Hooks or Budget is taken from the manager.
func ServeWith(mgr Manager, o Options, parts ...Part) error {
	o.Logger = cmp.Or(o.Logger, mgr.Logger())
	if o.Hooks.Started == nil && o.Hooks.Done == nil && o.Hooks.Lost == nil {
		o.Hooks = mgr.WebhookHooks()
	}
	o.Budget = cmp.Or(o.Budget, mgr.WebhookBudget())
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
