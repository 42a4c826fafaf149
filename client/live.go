package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/wire"
)

// Options of a [Live]. The zero value works. They are read by [New] only.
type Options struct {
	// Scheme knows the Go types. nil: a new one with the built-in kinds in their stable versions; see
	// package scheme. It must not change once the client is in use.
	Scheme *runtime.Scheme
	// Mapper knows the resources. nil: a new [Mapper] that asks the server. Clients of one server
	// may share one.
	Mapper meta.RESTMapper
	// UserAgent names the program to the server. Empty: that of the configuration, else the name
	// and version of the program.
	UserAgent string
	// FieldOwner of the fields that writes set, where the call names none. Empty: the server
	// takes the first part of the user agent; an apply must then name one.
	FieldOwner string
	// QPS and Burst limit the requests of this client, in requests a second and at once. Requests go
	// in the order in which they come; one whose turn does not come before the deadline of its ctx is a
	// [ThrottledError] at once. Not limited are a [Feed], discovery and [Live.Check]; [Live.Limited] gives
	// others a limit of their own. Zero or negative QPS: no limit; the limits in the rest.Config are
	// not looked at. Burst below 1: 1.
	QPS   float64
	Burst int
	// Retries is how often a request is sent again when the server answers 429, or 503 with a
	// Retry-After. Zero: 10. Negative: never. Each waits as long as the server asks, up to
	// MaxRetryAfter, and up to a tenth longer; the caller's ctx bounds them all.
	Retries int
	// MaxRetryAfter is the longest wait that a server may ask for, of requests here and of feeds.
	// Who is asked to wait longer tries again after that: the errors say both. Zero: 1 min.
	// Negative: no bound.
	MaxRetryAfter time.Duration
	// Silence is how long the server may keep a request without any sign: until the header of
	// the answer, then between two reads of its body (not of a watch). Zero: 45 s. Negative: no
	// limit. A write whose webhooks take longer needs more. The Timeout of the rest.Config is not
	// looked at: bound a call by its ctx.
	Silence time.Duration
	// DryRun makes every write a dry run.
	DryRun bool
	// Logger gets the warnings that the server sends, each text once. nil: they are dropped.
	Logger *slog.Logger
	// Hook is called after each try of a request, on the goroutine of the caller. nil: none. It
	// must not block.
	Hook func(Done)
}

// Live reads from and writes to the server. It is safe for concurrent use, starts no goroutine
// of its own and needs no Run; [Live.Close] gives its idle connections back.
type Live struct {
	scheme *runtime.Scheme
	mapper meta.RESTMapper
	link   *link
	owner  string
	dryRun bool
	fence  Fence  // nil: none
	limit  *limit // nil: none
	holder Holder // nil: none
	plain  *plainSet
	recent *recent
}

// plainSet is the resources that have refused protobuf.
type plainSet struct {
	mu  sync.RWMutex
	set map[schema.GroupVersionResource]bool
}

var (
	_ Client = (*Live)(nil)
	_ Pager  = (*Live)(nil)
)

// New makes a client for the cluster of the configuration. It reads the files that the
// configuration names but does not talk to the server: [Live.Check] does.
func New(cfg *rest.Config, o Options) (*Live, error) {
	if cfg == nil {
		return nil, &ConfigError{Source: "rest.Config", cause: errors.New("is nil")}
	}
	if o.Scheme == nil {
		o.Scheme = scheme.New()
	}
	cfg = rest.CopyConfig(cfg)
	if o.UserAgent != "" {
		cfg.UserAgent = o.UserAgent
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = userAgent()
	}
	l, err := newLink(cfg, o)
	if err != nil {
		return nil, &ConfigError{Source: "rest.Config", cause: err}
	}
	if o.Mapper == nil {
		o.Mapper = newMapper(l)
	}
	return &Live{
		scheme: o.Scheme, mapper: o.Mapper, link: l, owner: o.FieldOwner, dryRun: o.DryRun, limit: newLimit(o.QPS, o.Burst),
		plain: &plainSet{set: map[schema.GroupVersionResource]bool{}}, recent: new(recent),
	}, nil
}

func newLink(cfg *rest.Config, o Options) (*link, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	rt, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Silence == 0:
		o.Silence = 45 * time.Second
	case o.Silence < 0:
		o.Silence = 0
	}
	switch {
	case o.Retries == 0:
		o.Retries = 10
	case o.Retries < 0:
		o.Retries = 0
	}
	switch {
	case o.MaxRetryAfter == 0:
		o.MaxRetryAfter = defaultMaxWait
	case o.MaxRetryAfter < 0:
		o.MaxRetryAfter = math.MaxInt64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = logguard.Logger(o.Logger)
	return &link{
		base: base, transport: rt, writes: newCutter(cfg), userAgent: cfg.UserAgent,
		silence: o.Silence, retries: o.Retries, maxWait: o.MaxRetryAfter, hook: o.Hook,
		reauth:   cfg.BearerTokenFile != "" || cfg.ExecProvider != nil || cfg.AuthProvider != nil,
		warnings: &warnings{log: o.Logger, seen: map[string]struct{}{}},
	}, nil
}

// userAgent is "program/version", as far as the binary knows.
func userAgent() string {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return filepath.Base(os.Args[0]) + "/" + version
}

// Scheme implements [Client].
func (c *Live) Scheme() *runtime.Scheme { return c.scheme }

// Mapper implements [Client]. It is that of the Options, else a [*Mapper].
func (c *Live) Mapper() meta.RESTMapper { return c.mapper }

// Close closes the connections that are idle. Those in use are closed by the server or stay for
// others; the client can still be used.
func (c *Live) Close() {
	closeIdle(c.link.transport)
	c.link.writes.closeIdle()
}

// Check asks the server for its version: the one call that finds a wrong address, a certificate
// that is not for it, HTTP where there should be HTTPS, something that is no API server (a
// [EndpointError] each), a server that is not there ([UnavailableError]) and credentials that it refuses
// ([UnauthorizedError]). Call it before the program starts its work. It tries once.
func (c *Live) Check(ctx context.Context) error {
	r := &request{
		call: Call{Verb: "get", Kind: "version"}, method: http.MethodGet,
		path: []string{"version"}, accept: wire.ContentTypeJSON, direct: true,
	}
	resp, err := c.link.send(ctx, r)
	if err == nil {
		err = checkVersion(r.call, resp)
	}
	_, bad := errors.AsType[*ResponseError](err)
	_, absent := errors.AsType[*NotServedError](err)
	if bad || absent {
		return &EndpointError{Call: r.call, URL: c.link.base.String(), Problem: "it does not answer as a Kubernetes API server does", cause: err}
	}
	return err
}

// mapping asks the mapper, with ctx where it takes one.
func (c *Live) mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if m, ok := c.mapper.(*Mapper); ok {
		return m.Mapping(ctx, gvk)
	}
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		err = &NotServedError{GVK: gvk, cause: err}
	}
	return m, err
}

// target is the resource that a call goes to.
type target struct {
	call       Call
	gvk        schema.GroupVersionKind
	mapping    *meta.RESTMapping
	namespaced bool
	aside      bool // in another form than usual: what the server refuses is not remembered
}

// resolve finds the resource of a kind and checks the key against it: the namespace of a
// cluster-scoped kind is dropped, that of a namespaced one is needed unless all is allowed.
func (c *Live) resolve(ctx context.Context, verb string, gvk schema.GroupVersionKind, key object.Key, sub string, all bool) (*target, error) {
	m, err := c.mapping(ctx, gvk)
	if err != nil {
		if e, ok := errors.AsType[*NotServedError](err); ok {
			e.Call = Call{Verb: verb, Kind: gvk.Kind, Key: key, Subresource: sub}
			return nil, e
		}
		return nil, fmt.Errorf("%s: %w", Call{Verb: verb, Kind: gvk.Kind, Key: key, Subresource: sub}, err)
	}
	t := &target{gvk: gvk, mapping: m, namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace}
	if !t.namespaced {
		key.Namespace = ""
	}
	t.call = Call{Verb: verb, Resource: m.Resource, Kind: gvk.Kind, Key: key, Subresource: sub}
	problem := ""
	switch {
	case key.Namespace != "":
		problem = segment("namespace", key.Namespace)
	case t.namespaced && !all:
		problem = "namespace is empty, the kind is namespaced"
	}
	if problem == "" && key.Name != "" {
		problem = segment("name", key.Name)
	}
	if problem == "" && sub != "" {
		problem = segment("subresource", sub)
	}
	if problem != "" {
		return nil, &InvalidKeyError{Verb: Verb(verb), Kind: gvk.Kind, Key: key, Problem: problem}
	}
	return t, nil
}

// path is the URL path of the target, in segments; without a name it is the collection.
func (t *target) path() []string {
	gvr, key := t.mapping.Resource, t.call.Key
	p := make([]string, 0, 8)
	if gvr.Group == "" {
		p = append(p, "api", gvr.Version)
	} else {
		p = append(p, "apis", gvr.Group, gvr.Version)
	}
	if key.Namespace != "" {
		p = append(p, "namespaces", key.Namespace)
	}
	p = append(p, gvr.Resource)
	if key.Name != "" {
		p = append(p, key.Name)
	}
	if t.call.Subresource != "" {
		p = append(p, t.call.Subresource)
	}
	return p
}

// isPlain reports whether the resource has refused protobuf before.
func (c *Live) isPlain(t *target) bool {
	c.plain.mu.RLock()
	defer c.plain.mu.RUnlock()
	return c.plain.set[t.mapping.Resource]
}

func (c *Live) setPlain(t *target) {
	c.plain.mu.Lock()
	defer c.plain.mu.Unlock()
	c.plain.set[t.mapping.Resource] = true
}

// send sends a request to a target: built for protobuf where that is possible, and once more
// built for JSON when the server refuses it (406, 415), which is remembered unless that is refused, too.
// A 404 for the resource itself makes the mapper look again next time.
func (c *Live) send(ctx context.Context, t *target, build func(plain bool) (*request, error)) (*http.Response, error) {
	was := c.isPlain(t)
	for plain := was; ; plain = true {
		r, err := build(plain)
		if err != nil {
			return nil, err
		}
		r.fence = c.fence
		if !r.direct {
			r.limit = c.limit
		}
		resp, err := c.link.send(ctx, r)
		e, refused := errors.AsType[*RejectedError](err)
		refused = refused && (e.code() == http.StatusNotAcceptable || e.code() == http.StatusUnsupportedMediaType)
		if refused && !plain {
			continue
		}
		if plain && !was && !refused && !t.aside {
			c.setPlain(t)
		}
		if err == nil {
			return resp, nil
		}
		if e, ok := errors.AsType[*NotServedError](err); ok && e.Subresource == "" {
			if m, ok := c.mapper.(*Mapper); ok {
				m.gone(e.Resource)
			}
		}
		return nil, err
	}
}
