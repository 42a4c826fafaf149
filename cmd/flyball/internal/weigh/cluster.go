package weigh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

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
	// tries is how often the list of a kind begins, if the server loses the state of its pages or a
	// connection breaks.
	tries = 3
)

// Cluster weighs the objects of a cluster. It sends one request at a time. It goes on with the next
// kind if one cannot be listed, and ends if the server does not answer.
func Cluster(ctx context.Context, cfg *rest.Config, s *runtime.Scheme, o Options) (*Report, error) {
	live, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, err
	}
	defer live.Close()
	if err := live.Check(ctx); err != nil {
		return nil, err
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
		if err != nil {
			return nil, err
		}
	}
	return c.result(ctx)
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
		return nil, nil, fmt.Errorf("which kinds there are: %w", err)
	}
	return versioned(groups, lists, c.scheme), unknown, nil
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

// selected returns the kinds to weigh. It reports kinds that the roles name and the cluster lacks. It
// also reports group versions that are unknown, if neither roles nor kinds are given.
func (c *cluster) selected(served []Served, unknown map[schema.GroupVersion]error) (all []wanted, err error) {
	names := newMatcher(c.Kinds)
	for _, k := range served {
		if !names.match(k) {
			continue
		}
		if scope, ok := c.scope(k.Resource); ok {
			all = append(all, wanted{k, scope})
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
	if c.Program != nil {
		for _, named := range c.Program.named() {
			if !slices.ContainsFunc(served, func(k Served) bool { return slices.Contains(named, k.GVR.GroupResource()) }) {
				c.leaveOut(named.String(), errNotServed)
			}
		}
	} else if len(c.Kinds) == 0 {
		for _, gv := range groups {
			c.leaveOut("the group "+gv.String(), unknown[gv])
		}
	}
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
		switch _, alias := errors.AsType[aliasError](err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			c.end(k.Resource, scale)
			return nil
		case alias:
			c.leaveOut(p.Kind, err)
			return nil
		}
		if try < tries && again(err) {
			continue
		}
		if fatal(err) {
			return err
		}
		if answered(err) {
			c.leaveOut(p.Kind, err)
			return nil
		}
		if down := c.live.Check(ctx); down != nil {
			return errors.Join(err, down)
		}
		c.leaveOut(p.Kind, err)
		return nil
	}
}

// again reports whether a list may work if it begins once more: the server has lost the state of its
// pages, or the connection broke.
func again(err error) bool {
	_, gone := errors.AsType[*client.GoneError](err)
	broken, cut := errors.AsType[*client.UnavailableError](err)
	return gone || cut && !broken.Unsent
}

// fatal reports whether no other kind can be listed either.
func fatal(err error) bool {
	_, config := errors.AsType[*client.ConfigError](err)
	_, unauthorized := errors.AsType[*client.UnauthorizedError](err)
	return config || unauthorized
}

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

func (c *cluster) pages(ctx context.Context, k Served, namespace string, s *Scale, p Progress) error {
	feed := c.live.Feed(k.GVK, client.Selection{Namespace: namespace})
	q := wire.ListQuery{Limit: pageSize}
	var guard paging.Guard
	for {
		list, err := open(ctx, feed, q)
		if err != nil {
			return err
		}
		meta, err := read(list, s, &guard)
		if err != nil {
			return err
		}
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

// busyTries is how often a page is asked for, if the server asks to come back later.
const busyTries = 10

// open asks for a page. It waits if the server asks for that.
func open(ctx context.Context, feed *client.Feed, q wire.ListQuery) (*wire.List, error) {
	for try := 1; ; try++ {
		list, err := feed.List(ctx, q)
		wait, _ := client.RetryAfter(err)
		_, busy := errors.AsType[*client.TooManyRequestsError](err)
		if err == nil || try == busyTries || wait == 0 && !busy {
			return list, err
		}
		if run.Sleep(ctx, cmp.Or(wait, time.Second)) != nil {
			return nil, err
		}
	}
}

// read reads a page.
func read(list *wire.List, s *Scale, guard *paging.Guard) (wire.ListMeta, error) {
	defer list.Close()
	for {
		raw, err := list.Next()
		switch {
		case err == io.EOF:
			return list.Meta(), nil
		case err == nil:
			s.Add(raw)
		case wire.IsObjectError(err):
			s.Reject(err)
		default:
			return wire.ListMeta{}, err
		}
		paging.Item(guard, "")
	}
}
