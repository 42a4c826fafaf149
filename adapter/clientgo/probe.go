package clientgo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/run"
)

// template is what an informer of client-go lists.
type template struct {
	gvr       schema.GroupVersionResource
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	indexers  toolscache.Indexers
	resync    time.Duration
}

// prober finds out what the informers of generated code list: namespaces and selectors hide in their closures. It
// runs such an informer until its first request, which a transport reads and does not send. C is the clientset.
type prober[C any] struct {
	client C
	seen   chan *url.URL // has room for one
}

// probeTimeout bounds the wait for the first request.
const probeTimeout = 10 * time.Second

func newProber[C, S any](newForConfig func(*rest.Config) (S, error)) (*prober[C], error) {
	p := &prober[C]{seen: make(chan *url.URL, 1)}
	made, err := newForConfig(&rest.Config{Host: "http://flyball.invalid", Transport: p, QPS: -1})
	if err != nil {
		return nil, err
	}
	c, ok := any(made).(C)
	if !ok {
		return nil, fmt.Errorf("a %T is no client of these informers", made)
	}
	p.client = c
	return p, nil
}

var errProbed = errors.New("the request was read, and is not sent")

// RoundTrip implements http.RoundTripper.
func (p *prober[C]) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case p.seen <- r.URL:
	default: // the first one is enough
	}
	return nil, errProbed
}

var errOtherClient = errors.New("it lists by a client of its own: use NewSharedIndexInformer")

// probe runs a new informer until its first request, and returns what the informer lists. Calls must not overlap.
func (p *prober[C]) probe(resync time.Duration, newInformer func(C, time.Duration) toolscache.SharedIndexInformer) (*template, error) {
	select {
	case <-p.seen: // of an earlier informer, after its first request
	default:
	}
	var in toolscache.SharedIndexInformer
	err := run.Safely("new informer", func() error { in = newInformer(p.client, resync); return nil })
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, errors.New("the function returned no informer")
	}
	if packed, ok := From(in); ok {
		return nil, fmt.Errorf("the function returned a packed informer, %s: a factory needs one of client-go", packed.Name())
	}
	if err := checkSettings(in); err != nil {
		return nil, err
	}
	if err := in.SetWatchErrorHandler(func(*toolscache.Reflector, error) {}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(klog.NewContext(context.Background(), logr.Discard()), probeTimeout, errOtherClient)
	defer cancel()
	group, _ := run.New(ctx)
	group.Go("probe", func(ctx context.Context) error { in.RunWithContext(ctx); return nil })
	var at *url.URL
	select {
	case at = <-p.seen:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	group.Stop(errProbed)
	if failed := group.Wait(); !errors.Is(failed, errProbed) && err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	t, err := parse(at)
	if err != nil {
		return nil, err
	}
	t.indexers, t.resync = in.GetIndexer().GetIndexers(), resyncPeriod(in, resync)
	return t, nil
}

// parse reads the request of a list or watch.
func parse(at *url.URL) (*template, error) {
	t := &template{}
	path := strings.Split(strings.Trim(at.Path, "/"), "/")
	switch {
	case len(path) > 2 && path[0] == "api":
		t.gvr.Version, path = path[1], path[2:]
	case len(path) > 3 && path[0] == "apis":
		t.gvr.Group, t.gvr.Version, path = path[1], path[2], path[3:]
	}
	switch {
	case len(path) == 3 && path[0] == "namespaces":
		t.namespace, t.gvr.Resource = path[1], path[2]
	case len(path) == 1 && t.gvr.Version != "":
		t.gvr.Resource = path[0]
	default:
		return nil, fmt.Errorf("the request %s is no list", at)
	}
	var err error
	if t.labels, err = labels.Parse(at.Query().Get("labelSelector")); err != nil {
		return nil, fmt.Errorf("the request %s: %w", at, err)
	}
	if t.fields, err = fields.ParseSelector(at.Query().Get("fieldSelector")); err != nil {
		return nil, fmt.Errorf("the request %s: %w", at, err)
	}
	return t, nil
}
