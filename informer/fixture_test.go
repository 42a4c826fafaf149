package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

var (
	configMapGVK = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	configMaps   = informer.Kind{GVK: configMapGVK, Resource: corev1.SchemeGroupVersion.WithResource("configmaps")}
	types        = scheme.New()
	errEnd       = errors.New("the test is over")
)

func newServer() *feedtest.Server {
	return feedtest.New(&wire.Kind{GVK: configMapGVK, Scheme: types})
}

func configMap(name, value string) *corev1.ConfigMap {
	return testobj.ConfigMap("ns/"+name, testobj.Labels("value="+value), testobj.Data("value", value))
}

func key(name string) object.Key { return object.Key{Namespace: "ns", Name: name} }

// problems collects what an informer reports.
type problems struct {
	mu  sync.Mutex
	all []informer.Problem
}

func (p *problems) add(x informer.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, x)
}

func (p *problems) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, x := range p.all {
		lines = append(lines, fmt.Sprintf("%s %s %v", x.Handler, x.Key.Name, x.Err))
	}
	return strings.Join(lines, "\n")
}

func (p *problems) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

func newInformer(t *testing.T, s reflector.Source, change ...func(*informer.Options)) *informer.Informer {
	t.Helper()
	o := informer.Options{
		Kind: configMaps, Scheme: types,
		Reflector: reflector.Options{Paged: true},
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, f := range change {
		f(&o)
	}
	in, err := informer.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// start runs an informer or a cache until stop is called, which returns what Run returned.
func start(t *testing.T, in interface{ Run(context.Context) error }) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() { result <- in.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel(errEnd)
		return <-result
	})
}

// story is what a handler was told, one line for each call.
type story struct {
	mu    sync.Mutex
	lines []string
}

func (s *story) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// take returns what was told since the last take.
func (s *story) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.lines = nil }()
	return strings.Join(s.lines, "\n")
}

func (s *story) handler() informer.Handler[corev1.ConfigMap] {
	return informer.Handler[corev1.ConfigMap]{
		OnAdd: func(o *corev1.ConfigMap, initial bool) {
			s.add("add %s=%s%s", o.Name, o.Data["value"], map[bool]string{true: " initial"}[initial])
		},
		OnUpdate: func(old, new *corev1.ConfigMap) {
			s.add("update %s=%s→%s%s", new.Name, old.Data["value"], new.Data["value"],
				map[bool]string{true: " another uid"}[old.UID != new.UID])
		},
		OnDelete: func(last *corev1.ConfigMap, missed bool) {
			s.add("delete %s=%s@%s%s", last.Name, last.Data["value"], last.ResourceVersion,
				map[bool]string{true: " missed"}[missed])
		},
	}
}

func (s *story) want(t *testing.T, when string, lines ...string) {
	t.Helper()
	synctest.Wait()
	if got, want := s.take(), strings.Join(lines, "\n"); got != want {
		t.Errorf("%s: told\n%s\nwant\n%s", when, got, want)
	}
}

func handle(t *testing.T, in *informer.Informer, s *story) *informer.Registration {
	t.Helper()
	r, err := informer.AddHandler(in, s.handler())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
