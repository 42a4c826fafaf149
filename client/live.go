package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
)

// Options configure a [Live]. The zero value works. Only [New] reads them.
type Options struct {
	// Scheme maps Go types to kinds. nil: a new scheme with the stable versions of the built-in
	// kinds; see package scheme. It must not change once the client is in use.
	Scheme *runtime.Scheme
	// Mapper maps kinds to resources. nil: one that asks the server for what it serves. Clients of
	// one server may share that of a client.
	Mapper meta.RESTMapper
	// UserAgent names the program to the server. Empty: that of the configuration, else the name
	// and version of the program.
	UserAgent string
	// FieldOwner is the field manager of writes that name none. Empty: the server takes the first
	// part of the user agent. An apply must have a field manager, here or in the call.
	FieldOwner string
	// QPS is the rate limit in requests a second, and Burst the number of requests at once.
	// Requests pass in the order of their calls. A request that cannot pass before the deadline of
	// its ctx fails at once, with [context.DeadlineExceeded]. The limit does not apply to a [Feed], to discovery and
	// to [Live.Check]. [Live.Limited] makes a client with another limit. Zero or negative QPS: no
	// limit. Burst below 1: 1. The limits in the rest.Config are not used.
	QPS   float64
	Burst int
	// Retries is how often the client sends a request again after a 429 or a 503 with a
	// Retry-After. A write is sent again only if the API server itself says so: a page of a proxy
	// may come after the write. Zero: 10. Negative: never. Before each retry the client waits as
	// long as the server asks, at most MaxRetryAfter, plus up to a tenth. The caller's ctx bounds
	// all retries.
	Retries int
	// MaxRetryAfter is the longest wait that a server can ask for, from requests and feeds. A
	// longer one is cut to it, and the errors have both. Zero: 1 min. Negative: no bound.
	MaxRetryAfter time.Duration
	// Silence is how long the server may send nothing: until the header of the answer, then between
	// two reads of the body, except of a watch. A body that brings less than 3,840 bytes in a minute of
	// reading (or in Silence, if that is longer) counts as silent, too. Zero: 45 s. Negative: no limit.
	// A write with slow webhooks needs more. The Timeout of the rest.Config is not used: bound a call by its ctx.
	Silence time.Duration
	// DryRun makes every write a dry run.
	DryRun bool
	// Logger receives the warnings of the server, each text once. nil: warnings are dropped.
	Logger *slog.Logger
	// Hook is called after each try of a request, on the caller's goroutine. It must not block.
	// nil: none.
	Hook func(Done)
}

// Live is the client of a server: it reads, writes and watches. It is safe for concurrent use. It needs no
// Run, and its goroutines are those of requests. Each request ends with its ctx, also if a credential plugin,
// a dialer or a wrapper of the transport hangs; see [Live.Hung]. [Live.Close] closes its idle connections.
type Live struct {
	scheme    *runtime.Scheme
	mapper    meta.RESTMapper
	link      *link
	owner     string
	dryRun    bool
	fence     func(Call) error // nil: none
	limit     *limit           // nil: none
	held      heldFunc         // nil: none
	plain     *sync.Map        // the resources for which the server refuses protobuf
	originals *originals
	// defined has the definitions of kinds, for feeds.
	defined *definitions
}

var (
	_ Client        = (*Live)(nil)
	_ PartialReader = (*Live)(nil)
)

// New makes a client for the cluster of the configuration. It reads the files that the configuration
// names, whatever their size, and sends nothing; [Live.Check] asks the server. The error is a [ConfigError].
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
		plain: new(sync.Map), originals: new(originals),
		defined: &definitions{kinds: map[schema.GroupKind]*definition{}},
	}, nil
}

func newLink(cfg *rest.Config, o Options) (*link, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("%q is no URL and no host:port pair", cfg.Host[strings.LastIndexByte(cfg.Host, '@')+1:]) // without credentials
	}
	if u := base.User; u != nil && cfg.Username == "" && cfg.BearerToken == "" && cfg.BearerTokenFile == "" {
		cfg.Username = u.Username()
		cfg.Password, _ = u.Password()
	}
	base.User, base.RawQuery, base.Path = nil, "", cmp.Or(base.Path, "/") // errors print it
	rt, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	o.Silence = orDefault(o.Silence, 45*time.Second, math.MaxInt64)
	o.Retries = orDefault(o.Retries, 10, 0)
	o.MaxRetryAfter = orDefault(o.MaxRetryAfter, defaultMaxWait, math.MaxInt64)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = logguard.Logger(o.Logger)
	return &link{
		base: base, transport: rt, trips: new(trips), writes: newCutter(cfg), userAgent: cfg.UserAgent,
		silence: o.Silence, retries: o.Retries, maxWait: o.MaxRetryAfter, hook: o.Hook,
		reauth:   cfg.BearerTokenFile != "" || cfg.ExecProvider != nil || cfg.AuthProvider != nil,
		warnings: &warnings{log: o.Logger, seen: map[string]struct{}{}},
	}, nil
}

// orDefault returns the default for zero, and off for a negative value.
func orDefault[T int | time.Duration](v, def, off T) T {
	if v < 0 {
		return off
	}
	return cmp.Or(v, def)
}

// userAgent is "program/version", or "program/unknown".
func userAgent() string {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return filepath.Base(os.Args[0]) + "/" + version
}

// Scheme implements [Client].
func (c *Live) Scheme() *runtime.Scheme { return c.scheme }

// Mapper implements [Client]. It returns that of the Options, else one that asks the server. The
// latter is a [meta.ResettableRESTMapper], and its calls end after 32 s.
func (c *Live) Mapper() meta.RESTMapper { return c.mapper }

// Close closes the idle connections. Connections in use stay open. The client can still be used.
func (c *Live) Close() {
	closeIdle(c.link.transport)
	c.link.writes.closeIdle()
}

// Check asks the server for its version, once. Call it before the program starts its work. Its errors
// tell what is wrong with the configuration:
//   - [ConfigError]: a wrong address, a certificate for another name, HTTP instead of HTTPS, or a
//     server that is no API server.
//   - [UnavailableError]: no server answers.
//   - [UnauthorizedError]: the server refuses the credentials.
func (c *Live) Check(ctx context.Context) error {
	var v version.Info
	call := Call{Verb: verbGet, Kind: "version"}
	err := c.link.document(ctx, &request{call: call, path: []string{"version"}, accept: wire.ContentTypeJSON}, &v, func() error {
		if v.GitVersion == "" && v.Major == "" {
			return errNoVersionInfo
		}
		return nil
	})
	_, bad := errors.AsType[*ResponseError](err)
	_, absent := errors.AsType[*NotServedError](err)
	if bad || absent {
		return &ConfigError{Call: call, Source: c.link.base.String(), Problem: "it does not answer as a Kubernetes API server does", cause: err}
	}
	return err
}

// Mapping returns the resource of a kind. The error is a [NotServedError] for a kind that the server does
// not serve. If the discovery failed, it is an [UnavailableError], [UnauthorizedError], [ResponseError] and
// so on.
func (c *Live) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if m, ok := c.mapper.(*mapper); ok {
		return m.Mapping(ctx, gvk)
	}
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		err = &NotServedError{GVK: gvk, cause: err}
	}
	return m, err
}

// target is the resource of a call.
type target struct {
	call       Call
	gvk        schema.GroupVersionKind
	mapping    *meta.RESTMapping
	namespaced bool
	unusual    bool // not in the usual form: a refusal by the server is not remembered
}

// mappingFor is Mapping for a call with a key. If the key lacks the namespace that the kind needs, the
// definition of the kind may have been made anew with another scope. Then it asks the server.
func (c *Live) mappingFor(ctx context.Context, gvk schema.GroupVersionKind, key object.Key, all bool) (*meta.RESTMapping, error) {
	m, err := c.Mapping(ctx, gvk)
	known, own := c.mapper.(*mapper)
	if err != nil || !own || all || key.Namespace != "" || m.Scope.Name() != meta.RESTScopeNameNamespace || !custom(gvk.Group) {
		return m, err
	}
	known.gone(m.Resource)
	return c.Mapping(ctx, gvk)
}

// resolve finds the resource of a kind and checks the key. It drops the namespace of a cluster-scoped
// kind. It requires that of a namespaced kind, unless all is true.
func (c *Live) resolve(ctx context.Context, verb string, gvk schema.GroupVersionKind, key object.Key, sub string, all bool) (*target, error) {
	m, err := c.mappingFor(ctx, gvk, key, all)
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
	problem := cmp.Or(segment("namespace", key.Namespace), segment("name", key.Name), segment("subresource", sub))
	if key.Namespace == "" && t.namespaced && !all {
		problem = "namespace is empty, the kind is namespaced"
	}
	if problem != "" {
		return nil, badKey(verb, gvk, key, problem)
	}
	return t, nil
}

func badKey(verb string, gvk schema.GroupVersionKind, key object.Key, problem string) error {
	return &ArgumentError{Call: Call{Verb: verb, Kind: gvk.Kind, Key: key}, Argument: "key", Problem: problem}
}

// path is the URL path of the target in segments. Without a name it is that of the collection.
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

// send builds a request for protobuf if possible, and sends it. If the server refuses the encoding (406,
// 415), send builds the request for JSON and sends that. It remembers the refusal unless the server
// refuses JSON, too. A write that something else than the API server refuses is not repeated; the next one
// is sent in JSON. A 404 for the resource itself makes the mapper ask the server next time.
func (c *Live) send(ctx context.Context, t *target, build func(plain bool) (*request, error)) (*http.Response, error) {
	_, was := c.plain.Load(t.mapping.Resource)
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
		f, refused := errors.AsType[failed](err)
		refused = refused && (f.answered() == http.StatusNotAcceptable || f.answered() == http.StatusUnsupportedMediaType)
		if refused && !plain {
			if r.repeatable(f) {
				continue
			}
			if !t.unusual {
				c.plain.Store(t.mapping.Resource, true)
			}
			return nil, err
		}
		if plain && !was && !refused && !t.unusual {
			c.plain.Store(t.mapping.Resource, true)
		}
		if err == nil {
			return resp, nil
		}
		if e, ok := errors.AsType[*NotServedError](err); ok && e.Subresource == "" {
			if m, ok := c.mapper.(*mapper); ok {
				m.gone(e.Resource)
			}
		}
		if e, ok := errors.AsType[*NotFoundError](err); ok && e.Subresource != "" {
			err = c.whichAbsent(ctx, t, e)
		}
		return nil, err
	}
}
