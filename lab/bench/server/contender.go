package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/test/plane"
)

// contender is a server and a client of it, or the fake client.
type contender struct {
	name   string
	client client.Client
	config *rest.Config // nil without a server
	start  time.Duration
	close  func() error
}

// Names of contenders, as columns.
const (
	memory  = "memory"
	tcp     = "memory, TCP"
	fakes   = "fake client"
	realOne = "real"
)

func inMemory(ctx context.Context, log io.Writer) (*contender, error) {
	return ours(ctx, memory, apiserver.Options{InMemory: true, Progress: log})
}

func overTCP(ctx context.Context, log io.Writer) (*contender, error) {
	return ours(ctx, tcp, apiserver.Options{Progress: log})
}

// ours starts a server in memory, after the rules program.
func ours(ctx context.Context, name string, o apiserver.Options) (*contender, error) {
	first, err := apiserver.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := first.Close(); err != nil {
		return nil, err
	}
	const starts = 20
	var took []time.Duration
	for range starts {
		begin := time.Now()
		s, err := apiserver.New(ctx, o)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	s, err := apiserver.New(ctx, o)
	if err != nil {
		return nil, err
	}
	c, err := client.New(s.RESTConfig(), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, err
	}
	return &contender{name: name, client: c, config: s.RESTConfig(), start: median(took), close: s.Close}, nil
}

func fakeClient(context.Context, io.Writer) (*contender, error) {
	return &contender{name: fakes, client: fake.NewClientBuilder().Build(), close: func() error { return nil }}, nil
}

func controlPlane(ctx context.Context, log io.Writer) (*contender, error) {
	if _, err := plane.Build(ctx, log); err != nil {
		return nil, err
	}
	begin := time.Now()
	p, err := plane.Start(ctx, plane.Options{Bare: true, Nodes: -1})
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	config := p.RESTConfig()
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, err
	}
	return &contender{name: realOne, client: c, config: config, start: took, close: p.Close}, nil
}

// transport returns the transport of a contender's server.
func (c *contender) transport() (http.RoundTripper, string, error) {
	rt, err := rest.TransportFor(c.config)
	if err != nil {
		return nil, "", err
	}
	url, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return nil, "", err
	}
	return rt, url.String(), nil
}

// get returns the body of a response, in the format that accept names. Any status but 200 is an error. The caller
// closes the body.
func get(ctx context.Context, rt http.RoundTripper, url, accept string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return resp.Body, nil
}
