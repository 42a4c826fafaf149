package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/discovery"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/run"
)

// discoverer reads the groups, versions and resources of a server:
//
//	/api, /apis ──► aggregated: groups, versions and resources in two documents, at the same time
//	           └──► plain: groups and versions ──► /api/v1, /apis/<group>/<version>, those that are asked for
//
// Each of the two paths may answer in either form: some servers aggregate only one. Requests use the
// client's transport and retries, but not its hook and its rate limit.
type discoverer struct {
	link *link
	max  int64 // bytes of one document
}

const (
	// discoveryTimeout bounds the reading of /api and /apis, and a call of a mapper without a ctx.
	discoveryTimeout = 32 * time.Second
	// listTimeout bounds the reading of the resources of one group version in plain discovery.
	listTimeout = 10 * time.Second
	// maxDiscovery is the maximum size of a document: some 50,000 resources.
	maxDiscovery = 64 << 20
	// listsAtOnce is the maximum number of concurrent lists of resources of one question to a mapper.
	listsAtOnce = 16
)

const verbDiscover = "discover"

func newDiscoverer(l *link) *discoverer {
	return &discoverer{max: maxDiscovery, link: &link{
		base: l.base, transport: l.transport, trips: l.trips, userAgent: l.userAgent, retries: l.retries, maxWait: l.maxWait, silence: math.MaxInt64, reauth: l.reauth,
		warnings: &warnings{log: slog.New(slog.DiscardHandler), seen: map[string]struct{}{}},
	}}
}

// slowError is the cause of the end of a step of discovery that took too long.
type slowError struct{ after time.Duration }

func (e *slowError) Error() string { return fmt.Sprintf("discovery took more than %v", e.after) }

var (
	errSlowDiscovery = &slowError{discoveryTimeout}
	errSlowList      = &slowError{listTimeout}
	errHugeDiscovery = errors.New("the document is too large for what a server serves")
)

// groups reads /api and /apis, both at the same time: a program that starts waits for one of them, not for two.
// The error is that of one of them, typed.
func (d *discoverer) groups(ctx context.Context) (core, others []discovery.Group, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errSlowDiscovery)
	defer cancel()
	beside, _ := run.New(context.WithoutCancel(ctx)) // so that its error is that of the request
	beside.Go("", func(context.Context) (err error) {
		others, err = read(ctx, d, Call{Verb: verbDiscover}, discovery.Accept, discovery.ReadGroups, "apis")
		return err
	})
	core, err = read(ctx, d, Call{Verb: verbDiscover}, discovery.Accept, discovery.ReadCore, "api")
	if _, none := errors.AsType[*NotServedError](err); none {
		err = nil // some servers have no core group
	}
	if err != nil {
		cancel()
	}
	if failed := beside.Wait(); err == nil {
		err = failed
	}
	return core, others, err
}

// list reads the resources of one group version.
func (d *discoverer) list(ctx context.Context, gv schema.GroupVersion) ([]discovery.Resource, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errSlowList)
	defer cancel()
	path := []string{"apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"api", gv.Version}
	}
	return read(ctx, d, Call{Verb: verbDiscover, Kind: gv.String()}, wire.ContentTypeJSON, discovery.ReadResources, path...)
}

// read asks for one document and parses it as it arrives. ctx is that of a step.
func read[T any](ctx context.Context, d *discoverer, call Call, accept string, parse func(whole bool, body io.Reader) (T, error), path ...string) (T, error) {
	var none T
	resp, err := d.link.send(ctx, &request{call: call, method: http.MethodGet, path: path, accept: accept})
	if err == nil {
		defer resp.Body.Close()
		body := &io.LimitedReader{R: resp.Body, N: d.max}
		header := resp.Header.Get("Content-Type")
		whole, ok := discovery.Aggregated(header)
		if !ok {
			return none, badAnswer(call, resp, &wire.ContentTypeError{ContentType: header})
		}
		var found T
		if found, err = parse(whole, body); err == nil {
			return found, nil
		}
		switch {
		case isTyped(err):
		case body.N == 0:
			err = badAnswer(call, resp, errHugeDiscovery)
		default:
			err = badAnswer(call, resp, err)
		}
	}
	if slow, ok := context.Cause(ctx).(*slowError); ok {
		err = &TimeoutError{RequestError: local(call, metav1.StatusReasonTimeout, http.StatusGatewayTimeout, slow)}
	}
	return none, err
}
