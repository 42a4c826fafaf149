package weigh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/run"
)

const (
	// pageSize is the number of objects in one request, as with kubectl.
	pageSize = 500
	// tries is how often the list of a kind begins, if the server is busy, a connection breaks, or the
	// server loses the state of its pages.
	tries = 3
)

// Options say what to weigh. The zero value means all that can be listed and watched.
type Options struct {
	// Kinds are names of kinds: plural, singular, short or kind, with ".GROUP" if need be. A name without a
	// group means each kind that has it. Nil means all.
	Kinds []string
	// Program restricts to the kinds that these rules let a program list and watch. Nil means no restriction.
	Program *rbac.Rules
	// Namespace restricts to the objects of a namespace. Empty means no restriction.
	Namespace string
	// Progress is called for each page of a list. Nil means that it is not called.
	Progress func(string)
	// Problem is called for kinds that are not weighed, for lists that begin anew, and for objects that
	// cannot be used. The weighing goes on. Nil means that it is not called.
	Problem func(error)
}

// Cluster weighs the objects of a cluster. It sends one request at a time. A kind that cannot be listed is
// left out. It ends with an error if the server does not answer any more, or if nothing was weighed.
func Cluster(ctx context.Context, cfg *rest.Config, s *runtime.Scheme, o Options) (*Report, error) {
	live, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, err
	}
	defer live.Close()
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Problem == nil {
		o.Problem = func(error) {}
	}
	if err := live.Check(ctx); err != nil {
		return nil, err
	}
	c := &cluster{Options: o, live: live, scheme: s, report: Report{Program: o.Program != nil, Kinds: []Kind{}}}
	kinds, err := c.served(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if kinds, err = c.selected(kinds); err != nil {
		return nil, err
	}
	for i, k := range kinds {
		err := c.kind(ctx, k, fmt.Sprintf("weighing %s, %d of %d kinds", k, i+1, len(kinds)))
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if down := c.live.Check(ctx); down != nil {
			return nil, fmt.Errorf("%s: %w", k, errors.Join(err, down))
		}
		c.leaveOut(k.String(), err)
	}
	if len(c.report.Kinds) == 0 {
		return nil, fmt.Errorf("the cluster has nothing to weigh: %s", c.report.nothing())
	}
	c.report.sort()
	return &c.report, nil
}

type cluster struct {
	Options
	live   *client.Live
	scheme *runtime.Scheme
	report Report
}

// leaveOut notes that something is not weighed, and why.
func (c *cluster) leaveOut(name string, err error) {
	c.report.LeftOut = append(c.report.LeftOut, LeftOut{name, err.Error()})
	c.Problem(fmt.Errorf("%s is not weighed: %w", name, err))
}

// served is a kind of the cluster.
type served struct {
	Resource
	short []string // further names
}

// String returns the resource with its group: "deployments.apps".
func (k served) String() string { return k.GVR.GroupResource().String() }

// served returns the kinds that a cache can hold: those that can be listed and watched, each in the version that the
// server prefers. Kinds of the core group come first. Groups whose kinds the server cannot tell are left out.
func (c *cluster) served(ctx context.Context, cfg *rest.Config) (all []served, err error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c.Progress("asking which kinds there are")
	lists, err := d.ServerPreferredResourcesWithContext(ctx)
	unknown, some := discovery.GroupDiscoveryFailedErrorGroups(err)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil && !some {
		return nil, fmt.Errorf("which kinds there are: %w", err)
	}
	for gv, err := range unknown {
		c.leaveOut("the group "+gv.String(), err)
	}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue // no kind of it could be asked for
		}
		for _, r := range l.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				all = append(all, served{Resource{GVK: gv.WithKind(r.Kind), GVR: gv.WithResource(r.Name), Namespaced: r.Namespaced}, append(r.ShortNames, r.SingularName)})
			}
		}
	}
	slices.SortFunc(all, func(a, b served) int {
		return cmp.Or(strings.Compare(a.GVR.Group, b.GVR.Group), strings.Compare(a.GVR.Resource, b.GVR.Resource))
	})
	return all, nil
}

// is reports whether a name is one of the kind.
func (k served) is(name string) bool {
	name, group, ok := strings.Cut(strings.ToLower(name), ".")
	if ok && group != k.GVR.Group && group != k.GVR.Version+"."+k.GVR.Group {
		return false
	}
	return name == k.GVR.Resource || name == strings.ToLower(k.GVK.Kind) || slices.Contains(k.short, name)
}

// events has the Events of the core group under another name.
var events = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}

// selected returns the kinds to weigh.
func (c *cluster) selected(all []served) (chosen []served, err error) {
	for _, name := range c.Kinds {
		if !slices.ContainsFunc(all, func(k served) bool { return k.is(name) }) {
			err = errors.Join(err, fmt.Errorf("the cluster has no kind %q that can be listed and watched", name))
		}
	}
	var core bool // the Events of the core group are chosen
	for _, k := range all {
		gr := k.GVR.GroupResource()
		switch {
		case len(c.Kinds) > 0 && !slices.ContainsFunc(c.Kinds, k.is):
		case c.Program != nil && !(c.may("list", gr) && c.may("watch", gr)):
		case c.Namespace != "" && !k.Namespaced:
			c.leaveOut(k.String(), errors.New("its objects are in no namespace, and --namespace is given"))
		case gr == events && core:
		default:
			chosen = append(chosen, k)
			core = core || gr == schema.GroupResource{Resource: events.Resource}
		}
	}
	return chosen, err
}

// may reports whether the roles grant a verb on all objects of a resource.
func (c *cluster) may(verb string, gr schema.GroupResource) bool {
	return c.Program.Covers(rbac.Permission{Verb: verb, Group: gr.Group, Resource: gr.Resource})
}

// kind weighs a kind, and adds its figures to the report.
func (c *cluster) kind(ctx context.Context, k served, doing string) error {
	for try := 1; ; try++ {
		kind := &wire.Kind{GVK: k.GVK, Scheme: c.scheme}
		s := NewScale(k.Resource, kind)
		err := c.list(ctx, k, s, doing)
		if err == nil {
			f, problems := s.End()
			for _, err := range problems {
				c.Problem(err)
			}
			form := "typed"
			if kind.GoType() == nil {
				form = "unstructured"
			}
			c.report.add(Kind{Resource: k.String(), Version: k.GVR.Version, Kind: k.GVK.Kind, Namespaced: k.Namespaced, Form: form, Figures: f})
			return nil
		}
		wait, again := client.RetryAfter(err)
		_, forgotten := errors.AsType[*client.GoneError](err)
		if try == tries || !again && !forgotten {
			return err
		}
		c.Problem(fmt.Errorf("%s: after %s objects: %w: the list begins anew, try %d of %d", k, count(s.Weighed()), err, try+1, tries))
		if err := run.Sleep(ctx, max(wait, 100*time.Millisecond)); err != nil {
			return err
		}
	}
}

// list puts the objects of a kind on a scale, page by page.
func (c *cluster) list(ctx context.Context, k served, s *Scale, doing string) error {
	feed := c.live.Feed(k.GVK, client.Selection{Namespace: c.Namespace})
	q := wire.ListQuery{Limit: pageSize}
	for guard := (&paging.Guard{}); ; {
		c.Progress(fmt.Sprintf("%s: %s objects", doing, count(s.Weighed())))
		next, err := page(ctx, feed, q, s, guard)
		if err != nil || next == "" {
			return err
		}
		if err := guard.Next(next); err != nil {
			return err
		}
		q.Continue = next
	}
}

// page puts the objects of a page on a scale. It returns the token of the next page.
func page(ctx context.Context, feed *client.Feed, q wire.ListQuery, s *Scale, guard *paging.Guard) (next string, err error) {
	list, err := feed.List(ctx, q)
	if err != nil {
		return "", err
	}
	defer list.Close()
	for {
		raw, err := list.Next()
		switch {
		case err == io.EOF:
			return list.Meta().Continue, nil
		case err == nil:
			s.Add(raw)
		case wire.IsObjectError(err):
			s.Reject(err)
		default:
			return "", err
		}
		paging.Item(guard, "")
	}
}
