package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/wire"
)

// discovery reads the groups, versions and resources of a server:
//
//	/api, /apis ──► aggregated: groups, versions and resources in two documents
//	           └──► plain: groups and versions ──► /api/v1, /apis/<group>/<version> … 16 at a time
//
// Each of the two paths may answer in either form: some servers aggregate only one. Requests use the
// client's transport and retries, but not its hook and its rate limit.
type discovery struct {
	link *link
	max  int64 // bytes of one document
}

const (
	// discoveryTimeout bounds each of the two steps, and a call of a [Mapper] without a ctx.
	discoveryTimeout = 32 * time.Second
	// maxDiscovery is the maximum size of a document: some 50,000 resources.
	maxDiscovery = 64 << 20
	// listsAtOnce is the maximum number of concurrent requests for plain lists of resources.
	listsAtOnce = 16
)

const verbDiscover = "discover"

func newDiscovery(l *link) *discovery {
	return &discovery{max: maxDiscovery, link: &link{
		base: l.base, transport: l.transport, userAgent: l.userAgent, retries: l.retries, maxWait: l.maxWait, reauth: l.reauth,
		warnings: &warnings{log: slog.New(slog.DiscardHandler), seen: map[string]struct{}{}},
	}}
}

var (
	errUnlisted      = errors.New("its resources were not asked for")
	errStale         = errors.New("the server has no current list of its resources: the API server behind it does not answer")
	errSlowDiscovery = fmt.Errorf("discovery took more than %v", discoveryTimeout)
	errHugeDiscovery = errors.New("the document is too large for what a server serves")
)

// all reads everything. The error is that of /api or /apis, typed. A group version whose resources
// cannot be read has an error of its own.
func (d *discovery) all(ctx context.Context) (*served, error) {
	s, err := d.once(ctx)
	if err == nil && s.changing() {
		return d.once(ctx)
	}
	return s, err
}

// changing reports whether a group version was listed and then not found: it may have been removed
// between the two requests.
func (s *served) changing() bool {
	for g := range s.groups {
		for v := range s.groups[g].versions {
			if _, gone := errors.AsType[*NotServedError](s.groups[g].versions[v].err); gone {
				return true
			}
		}
	}
	return false
}

func (d *discovery) once(ctx context.Context) (*served, error) {
	core, others, err := d.groups(ctx)
	if err != nil {
		return nil, err
	}
	s := &served{groups: append(core, others...)}
	if err := d.lists(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// groups reads /api and /apis.
func (d *discovery) groups(ctx context.Context) (core, others []servedGroup, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errSlowDiscovery)
	defer cancel()
	core, err = read(ctx, d, Call{Verb: verbDiscover}, acceptGroups, readCore, "api")
	if _, none := errors.AsType[*NotServedError](err); none {
		err = nil // some servers have no core group
	}
	if err == nil {
		others, err = read(ctx, d, Call{Verb: verbDiscover}, acceptGroups, readGroups, "apis")
	}
	return core, others, err
}

// lists reads the resources of the group versions that lack them. The error is the end of ctx.
func (d *discovery) lists(ctx context.Context, s *served) error {
	bound, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errSlowDiscovery)
	defer cancel()
	g, _ := run.New(bound)
	slots := make(chan struct{}, listsAtOnce)
	for i := range s.groups {
		group := &s.groups[i]
		for j := range group.versions {
			v := &group.versions[j]
			if v.err != errUnlisted {
				continue
			}
			slots <- struct{}{}
			g.Go("", func(ctx context.Context) error {
				defer func() { <-slots }()
				v.resources, v.err = d.list(ctx, schema.GroupVersion{Group: group.name, Version: v.name})
				return nil
			})
		}
	}
	err := g.Wait()
	switch {
	case ctx.Err() != nil:
		return ended(ctx, Call{Verb: verbDiscover})
	case err == errSlowDiscovery: // the group versions have it
		return nil
	}
	return err
}

// list reads the resources of one group version.
func (d *discovery) list(ctx context.Context, gv schema.GroupVersion) ([]servedResource, error) {
	path := []string{"apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"api", gv.Version}
	}
	return read(ctx, d, Call{Verb: verbDiscover, Kind: gv.String()}, wire.ContentTypeJSON, readResources, path...)
}

// read asks for one document and parses it as it arrives. ctx is that of a step.
func read[T any](ctx context.Context, d *discovery, call Call, accept string, parse func(header string, body io.Reader) (T, error), path ...string) (T, error) {
	found, err := fetch(ctx, d, &request{call: call, method: http.MethodGet, path: path, accept: accept}, parse)
	if err != nil && context.Cause(ctx) == errSlowDiscovery {
		err = &TimeoutError{RequestError: local(call, metav1.StatusReasonTimeout, http.StatusGatewayTimeout, errSlowDiscovery)}
	}
	return found, err
}

func fetch[T any](ctx context.Context, d *discovery, r *request, parse func(header string, body io.Reader) (T, error)) (T, error) {
	var none T
	resp, err := d.link.send(ctx, r)
	if err != nil {
		return none, err
	}
	defer resp.Body.Close()
	body := &io.LimitedReader{R: resp.Body, N: d.max}
	header := resp.Header.Get("Content-Type")
	found, err := parse(header, body)
	switch {
	case err == nil:
		return found, nil
	case isTyped(err):
		return none, err
	case body.N == 0:
		err = errHugeDiscovery
	}
	return none, badAnswer(r.call, header, nil, err)
}
