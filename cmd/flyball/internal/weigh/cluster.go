package weigh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/run"
)

const (
	// pageSize is the number of objects in one request, as with kubectl.
	pageSize = 500
	// tries is how often a page is asked for, and how often the list of a kind begins, if connections
	// break or the server loses the state of its pages.
	tries = 3
)

// Cluster weighs the objects of a cluster. It sends one request at a time. It goes on with the next kind if
// one cannot be listed. It ends if the server does not answer any more, or takes the credentials for
// nothing any more. If something was weighed before that, there is a report beside the error. It names what
// is not weighed.
func Cluster(ctx context.Context, cfg *rest.Config, s *runtime.Scheme, o Options) (*Report, error) {
	cfg = apart(cfg)
	live, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, err
	}
	defer live.Close()
	if err := live.Check(ctx); err != nil {
		return nil, plain(err)
	}
	c := &cluster{weighing: newWeighing(o, s, "the cluster "+cfg.Host), live: live}
	served, unknown, err := c.served(ctx, cfg)
	if err != nil {
		return nil, err
	}
	kinds, err := c.selected(served, unknown)
	if err != nil {
		return nil, err
	}
	for i, k := range kinds {
		err := c.kind(ctx, k.Served, k.Scope, Progress{Number: i + 1, Of: len(kinds)})
		switch {
		case err == nil:
		case ctx.Err() != nil || len(c.report.Kinds) == 0:
			return nil, plain(err)
		default:
			return c.cut(kinds[i:], plain(err))
		}
	}
	return c.result(ctx)
}

// apart returns the configuration without credentials in the URL of the server, which errors would print. They
// are beside it then.
func apart(cfg *rest.Config) *rest.Config {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil || base.User == nil && base.RawQuery == "" {
		return cfg // client.New has the error
	}
	cfg = rest.CopyConfig(cfg)
	if base.User != nil && cfg.Username == "" && cfg.BearerToken == "" && cfg.BearerTokenFile == "" {
		cfg.Username = base.User.Username()
		cfg.Password, _ = base.User.Password()
	}
	base.User, base.RawQuery = nil, ""
	cfg.Host = base.String()
	return cfg
}

// plain says in plain words that the credentials are not taken.
func plain(err error) error {
	if _, ok := errors.AsType[*client.UnauthorizedError](err); ok || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("the server does not take the credentials: %w", err)
	}
	return err
}

// cut returns the report of what was weighed until an error, which ends the weighing before these kinds.
func (c *cluster) cut(rest []wanted, err error) (*Report, error) {
	var names []string
	for _, k := range rest {
		names = append(names, k.GVR.GroupResource().String())
	}
	for _, name := range names {
		c.report.leaveOut(name, err.Error())
	}
	c.report.sort()
	return &c.report, fmt.Errorf("not all was weighed: %s: %w", strings.Join(names, ", "), err)
}

type cluster struct {
	*weighing
	live *client.Live
}

// served returns the kinds that a cache can hold: those that can be listed and watched. unknown has
// the group versions whose kinds the server cannot tell.
func (c *cluster) served(ctx context.Context, cfg *rest.Config) (all []Served, unknown map[schema.GroupVersion]error, err error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // some servers have a document for each group; they are read once
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return patient{rt, c.progress} })
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, nil, err
	}
	groups, lists, err := d.ServerGroupsAndResourcesWithContext(ctx)
	unknown, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil && !some:
		return nil, nil, plain(fmt.Errorf("which kinds there are: %w", err))
	}
	return versioned(groups, lists, c.scheme), unknown, nil
}

// patient shows the waits of a client that repeats requests by itself.
type patient struct {
	http.RoundTripper
	progress func(Progress)
}

// WrappedRoundTripper lets client-go find the transport that it can close.
func (p patient) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err == nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500) {
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
			p.progress(Progress{Wait: time.Duration(s) * time.Second})
		}
	}
	return resp, err
}

// versioned returns the kinds of discovery documents, each in one version: the preferred one of its
// group, or another one if only that has a Go type.
func versioned(groups []*metav1.APIGroup, lists []*metav1.APIResourceList, s *runtime.Scheme) (all []Served) {
	preferred := map[string]string{}
	for _, g := range groups {
		preferred[g.Name] = g.PreferredVersion.Version
	}
	rank := func(r Resource) int {
		typed := s.AllKnownTypes()[r.GVK] != nil
		switch first := r.GVR.Version == preferred[r.GVR.Group]; {
		case typed && first:
			return 3
		case typed:
			return 2
		case first:
			return 1
		}
		return 0
	}
	order := map[string]int{} // that of the server; lists may have any
	for _, g := range groups {
		for _, v := range g.Versions {
			order[v.GroupVersion] = len(order) + 1
		}
	}
	slices.SortStableFunc(lists, func(a, b *metav1.APIResourceList) int {
		return cmp.Or(cmp.Compare(order[a.GroupVersion], order[b.GroupVersion]), cmp.Compare(a.GroupVersion, b.GroupVersion))
	})
	at := map[schema.GroupResource]int{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue // no kind of it could be asked for
		}
		for _, r := range l.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "watch") {
				continue
			}
			k := Served{Resource{GVK: gv.WithKind(r.Kind), GVR: gv.WithResource(r.Name), Namespaced: r.Namespaced}, append(r.ShortNames, r.SingularName)}
			i, seen := at[k.GVR.GroupResource()]
			switch {
			case !seen:
				at[k.GVR.GroupResource()] = len(all)
				all = append(all, k)
			case rank(k.Resource) > rank(all[i].Resource):
				all[i] = k
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Served) int { // the core group first, as with kubectl
		return cmp.Compare(min(len(a.GVR.Group), 1), min(len(b.GVR.Group), 1))
	})
	return all
}

// wanted is a kind to weigh.
type wanted struct {
	Served
	Scope
}

// selected returns the kinds to weigh. It reports kinds that are excluded, kinds that the roles name and the
// cluster lacks, and group versions that are unknown, unless neither roles nor kinds ask for them.
func (c *cluster) selected(served []Served, unknown map[schema.GroupVersion]error) (all []wanted, err error) {
	names := newMatcher(c.Kinds)
	var excluded exclusions
	for _, k := range served {
		if !names.match(k) {
			continue
		}
		scope, ok, why := c.scope(k.Resource)
		switch {
		case ok:
			all = append(all, wanted{k, scope})
		case why != nil:
			excluded.add(k.Resource, why)
		}
	}
	groups := slices.SortedFunc(maps.Keys(unknown), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	if missing := names.missing(); len(missing) > 0 {
		err = &MissingError{missing, c.report.From}
		for _, gv := range groups {
			err = errors.Join(err, fmt.Errorf("the kinds of %s are unknown: %w", gv, unknown[gv]))
		}
		return nil, err
	}
	excluded.report(c.weighing)
	if len(c.Kinds) > 0 {
		return all, nil
	}
	for _, gv := range groups {
		if c.Program == nil || c.Program.mentions(gv.Group) {
			c.leaveOut("the group "+gv.String(), unknown[gv])
		}
	}
	c.absent(served, func(group string) bool {
		return slices.ContainsFunc(groups, func(gv schema.GroupVersion) bool { return gv.Group == group })
	}, errNotServed)
	return all, nil
}

var errNotServed = errors.New("the cluster has no such kind that can be listed and watched")

// kind weighs a kind. The error ends the weighing.
func (c *cluster) kind(ctx context.Context, k Served, scope Scope, p Progress) error {
	p.Kind = k.GVR.GroupResource().String()
	for try := 1; ; try++ {
		c.progress(p)
		scale := NewScale(k.Resource, c.kindOf(k.Resource), nil)
		err := c.list(ctx, k, scope, scale, p)
		_, alias := errors.AsType[aliasError](err)
		_, anew := errors.AsType[anewError](err)
		_, unauthorized := errors.AsType[*client.UnauthorizedError](err)
		_, config := errors.AsType[*client.ConfigError](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			c.end(k.Resource, scale)
			return nil
		case anew && try < tries:
			c.problem(fmt.Errorf("%s: after %s objects: %w: the list begins anew, try %d of %d", p.Kind, count(scale.Weighed()), err, try+1, tries))
			continue
		case config || unauthorized && c.refused(ctx):
			return err
		}
		if !alias && !answered(err) {
			if down := c.live.Check(ctx); down != nil {
				return errors.Join(err, down)
			}
		}
		c.leaveOut(p.Kind, err)
		return nil
	}
}

// refused reports whether the server does not take the credentials for another request either.
func (c *cluster) refused(ctx context.Context) bool {
	list, err := c.live.Feed(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, client.Selection{}).List(ctx, wire.ListQuery{Limit: 1})
	if err == nil {
		list.Close()
	}
	_, unauthorized := errors.AsType[*client.UnauthorizedError](err)
	return unauthorized
}

// anewError says that a list cannot go on where it was.
type anewError struct{ error }

func (e anewError) Unwrap() error { return e.error }

// answered reports whether the error is an answer of the server.
func answered(err error) bool {
	_, network := errors.AsType[net.Error](err)
	_, timeout := errors.AsType[*client.TimeoutError](err)
	_, unavailable := errors.AsType[*client.UnavailableError](err)
	return !network && !timeout && !unavailable
}

// list puts the objects of a kind on a scale, namespace by namespace if some are selected.
func (c *cluster) list(ctx context.Context, k Served, scope Scope, s *Scale, p Progress) error {
	if scope.Namespaces == nil {
		return c.pages(ctx, k, "", s, p)
	}
	for _, namespace := range scope.Namespaces {
		if err := c.pages(ctx, k, namespace, s, p); err != nil {
			return err
		}
	}
	return nil
}

// pages puts the objects of a list on a scale, page by page. If a connection breaks, it asks for the page
// again and goes on behind the last object. If the server has forgotten the list, it goes on with newer
// objects, where the server permits that.
func (c *cluster) pages(ctx context.Context, k Served, namespace string, s *Scale, p Progress) error {
	feed := c.live.Feed(k.GVK, client.Selection{Namespace: namespace})
	q := wire.ListQuery{Limit: pageSize}
	var guard paging.Guard
	for failed, done := 0, 0; ; {
		meta, n, err := c.page(ctx, feed, q, s, &guard, done, p)
		done += n
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			if failed++; failed == tries {
				return err
			}
			if err = goOn(&q, done, err); err != nil {
				return err
			}
			c.problem(fmt.Errorf("%s: the list broke off after %s objects and goes on there, try %d of %d", p.Kind, count(s.Weighed()), failed+1, tries))
			if failed > 1 && run.Sleep(ctx, time.Second) != nil {
				return context.Cause(ctx)
			}
			continue
		}
		failed, done = 0, 0
		p.Objects, p.Remaining = s.Weighed(), -1
		if meta.Remaining != nil {
			p.Remaining = int(*meta.Remaining)
		}
		c.progress(p)
		if q.Continue == "" {
			if err := c.alias(s); err != nil {
				return err
			}
		}
		if meta.Continue == "" {
			return nil
		}
		if err := guard.Next(meta.Continue); err != nil {
			return fmt.Errorf("list %s: %w", p.Kind, err)
		}
		q.Continue = meta.Continue
	}
}

// goOn returns nil if a list can go on after an error, with done objects of the page that it asks for. Else
// it returns the error, as an anewError if the list can begin anew.
func goOn(q *wire.ListQuery, done int, err error) error {
	if gone, ok := errors.AsType[*client.GoneError](err); ok {
		if gone.Continue == "" || q.Continue == "" {
			return anewError{err}
		}
		q.Continue = gone.Continue
		return nil
	}
	began := q.Continue != "" || done > 0
	cut, broken := errors.AsType[*client.UnavailableError](err)
	_, silent := errors.AsType[*client.TimeoutError](err)
	switch {
	case !(broken && (began || !cut.Unsent)) && !(silent && began):
		return err
	case q.Continue == "" && done > 0: // the server may have another first page now
		return anewError{err}
	}
	return nil
}

// page puts the objects of a page on a scale but for the first ones, of which done are there. It returns the
// number of those that it put there.
func (c *cluster) page(ctx context.Context, feed *client.Feed, q wire.ListQuery, s *Scale, guard *paging.Guard, done int, p Progress) (wire.ListMeta, int, error) {
	list, err := c.open(ctx, feed, q, p)
	if err != nil {
		return wire.ListMeta{}, 0, err
	}
	defer list.Close()
	for n := 0; ; n++ {
		raw, err := list.Next()
		switch {
		case err == io.EOF:
			return list.Meta(), max(0, n-done), nil
		case err != nil && !wire.IsObjectError(err):
			return wire.ListMeta{}, max(0, n-done), err
		case n < done:
			continue
		case err == nil:
			s.Add(raw)
		default:
			s.Reject(err)
		}
		paging.Item(guard, "")
	}
}

// busyTries is how often a page is asked for, if the server asks to come back later.
const busyTries = 10

// open asks for a page. It waits if the server asks for that, and shows it.
func (c *cluster) open(ctx context.Context, feed *client.Feed, q wire.ListQuery, p Progress) (*wire.List, error) {
	for try := 1; ; try++ {
		list, err := feed.List(ctx, q)
		wait, _ := client.RetryAfter(err)
		_, busy := errors.AsType[*client.TooManyRequestsError](err)
		if err == nil || try == busyTries || wait == 0 && !busy {
			return list, err
		}
		p.Wait = cmp.Or(wait, time.Second)
		c.progress(p)
		if run.Sleep(ctx, p.Wait) != nil {
			return nil, err
		}
	}
}
