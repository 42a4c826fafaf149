package ctrlcache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/test/planetest"
)

// story is what a handler was told.
type story struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{}
}

func (s *story) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

// await waits until the handler was told so, n times.
func (s *story) await(t testing.TB, line string, n int) {
	t.Helper()
	ctx := bounded(t)
	for {
		s.mu.Lock()
		left := n
		for _, l := range s.lines {
			if l == line {
				left--
			}
		}
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more := s.more
		s.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Fatalf("not told of %q %d times: %q", line, n, s.lines)
		}
	}
}

func (s *story) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

func (s *story) handler() toolscache.ResourceEventHandler {
	name := func(o any) string { return o.(*corev1.ConfigMap).Name }
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, isInInitialList bool) { s.say(fmt.Sprintf("add %s %v", name(o), isInInitialList)) },
		UpdateFunc: func(old, new any) {
			if old.(*corev1.ConfigMap).ResourceVersion == new.(*corev1.ConfigMap).ResourceVersion {
				s.say("resync " + name(new))
				return
			}
			s.say("update " + name(new))
		},
		DeleteFunc: func(o any) { s.say("delete " + name(o)) },
	}
}

func TestHandlers(t *testing.T) {
	ns := planetest.Namespace(t, planetest.Shared(t))
	ctx, direct := bounded(t), live(t)
	var mu sync.Mutex
	var problems []informer.Problem
	c := newCache(t, crcache.Options{DefaultNamespaces: map[string]crcache.Config{ns: {}}}, ctrlcache.Options{
		OnProblem: func(p informer.Problem) { mu.Lock(); defer mu.Unlock(); problems = append(problems, p) },
	})
	a := testobj.ConfigMap(ns + "/a")
	must(t, direct.Create(ctx, a))
	in, err := c.GetInformer(ctx, &corev1.ConfigMap{})
	must(t, err)
	var early, late, resynced story
	first, err := in.AddEventHandler(early.handler())
	must(t, err)
	must(t, wait(ctx, first.HasSyncedChecker()))
	early.await(t, "add a true", 1)

	b := testobj.ConfigMap(ns + "/b")
	must(t, direct.Create(ctx, b))
	early.await(t, "add b false", 1)
	b.Data = map[string]string{"k": "v"}
	must(t, direct.Update(ctx, b))
	early.await(t, "update b", 1)

	second, err := in.AddEventHandlerWithOptions(late.handler(), toolscache.HandlerOptions{})
	must(t, err)
	must(t, wait(ctx, second.HasSyncedChecker()))
	late.await(t, "add a true", 1)
	late.await(t, "add b true", 1)
	if _, err := in.AddEventHandlerWithResyncPeriod(resynced.handler(), time.Second); err != nil {
		t.Fatal(err)
	}
	resynced.await(t, "resync a", 2)
	resynced.await(t, "resync b", 2)

	// A handler that panics gets its next event, and the others all of theirs.
	if _, err := in.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("no") }}); err != nil {
		t.Fatal(err)
	}
	must(t, in.RemoveEventHandler(second))
	must(t, in.RemoveEventHandler(second))
	told := late.len()
	must(t, direct.Delete(ctx, a))
	early.await(t, "delete a", 1)
	if got := late.len(); got != told {
		t.Errorf("a removed handler was told of %d changes", got-told)
	}
	eventually(t, func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(problems) < 2 || problems[0].Handler == "" {
			return fmt.Errorf("problems: %v", problems)
		}
		return nil
	})
	must(t, c.RemoveInformer(ctx, &corev1.ConfigMap{}))
	if _, err := in.AddEventHandler(early.handler()); !in.IsStopped() || err == nil {
		t.Errorf("a handler of a removed informer: %v", err)
	}
}

// wait waits until a checker is done.
func wait(ctx context.Context, c toolscache.DoneChecker) error {
	select {
	case <-c.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", c.Name(), context.Cause(ctx))
	}
}

// Every failed request is told, with a reflector that the default handler of client-go can use.
func TestWatchErrorHandler(t *testing.T) {
	told := make(chan error, 100)
	c, err := ctrlcache.New(&rest.Config{Host: "http://127.0.0.1:1"}, crcache.Options{
		Mapper: live(t).RESTMapper(),
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
			select {
			case told <- err:
			default:
			}
		},
	})
	must(t, err)
	run(t, c.Start)
	if _, err := c.GetInformer(t.Context(), &corev1.Node{}, crcache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ctx := bounded(t)
	for range 3 {
		select {
		case err := <-told:
			if err == nil {
				t.Error("told of nothing")
			}
		case <-ctx.Done():
			t.Fatal("not told of a server that is not there")
		}
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := c.List(short, &corev1.NodeList{}); !apierrors.IsTimeout(err) {
		t.Errorf("a read of a cache that cannot sync: %v", err)
	}
}

// Metrics are in the registry of the operator while the cache runs.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	ctx := bounded(t)
	for range 2 { // a program may have several caches
		c := newCache(t, crcache.Options{}, ctrlcache.Options{Metrics: registry})
		must(t, c.List(ctx, &corev1.NodeList{}))
	}
	families, err := registry.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == "flyball_cache_objects" {
			return
		}
	}
	t.Errorf("no metrics of the cache among %d", len(families))
}
