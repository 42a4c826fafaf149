package informer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// ends are the incarnations of whose end one was told.
type ends struct {
	mu   sync.Mutex
	told []apitypes.UID
	more chan struct{} // closed, and replaced, with each
}

func (e *ends) add(uids ...apitypes.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, uids...)
	if e.more != nil {
		close(e.more)
	}
	e.more = make(chan struct{})
}

func (e *ends) sorted() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint(slices.Sorted(slices.Values(e.told)))
}

// wait returns when the end of uid was told, or with the cause of ctx.
func (e *ends) wait(ctx context.Context, uid apitypes.UID) error {
	for {
		e.mu.Lock()
		told := slices.Contains(e.told, uid)
		if e.more == nil {
			e.more = make(chan struct{})
		}
		more := e.more
		e.mu.Unlock()
		if told {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (e *ends) changed(c store.Change) {
	if uids, _ := c.Ended(); len(uids) > 0 {
		e.add(uids...)
	}
}

func (e *ends) handler() informer.Handler[corev1.ConfigMap] {
	return informer.Handler[corev1.ConfigMap]{
		OnAdd: func(*corev1.ConfigMap, bool) {},
		OnUpdate: func(old, new *corev1.ConfigMap) {
			if old.UID != new.UID {
				e.add(old.UID)
			}
		},
		OnDelete: func(last *corev1.ConfigMap, _ bool) { e.add(last.UID) },
		OnEnded:  func(_ object.Key, gone *object.Incarnations) { e.add(gone.UIDs...) },
	}
}

// TestEndsOfIncarnations: objects of one name come and go faster than anyone looks, and whoever asks
// for it is told of the end of each.
func TestEndsOfIncarnations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(configMap("a", "1"))
		in := newInformer(t, s)
		var source, prompt, blocked ends
		hold := make(chan struct{})
		if _, err := in.Subscribe("source", source.changed); err != nil {
			t.Fatal(err)
		}
		if _, err := informer.AddHandler(in, prompt.handler()); err != nil {
			t.Fatal(err)
		}
		late := blocked.handler()
		late.OnAdd = func(o *corev1.ConfigMap, _ bool) {
			if o.Name == "plug" {
				<-hold
			}
		}
		if _, err := informer.AddHandler(in, late); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		defer stop()
		synctest.Wait()

		// One batch: the watch is down meanwhile, and resumes.
		s.Cut()
		for range 2 {
			s.Delete(key("a"))
			s.Put(configMap("a", "2"))
			s.Put(configMap("b", "1"))
			s.Delete(key("b"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		const batch = "[uid-1 uid-2 uid-3 uid-5]"
		for name, e := range map[string]*ends{"source": &source, "handler": &prompt} {
			if got := e.sorted(); got != batch {
				t.Errorf("%s was told of the end of %v, want %s", name, got, batch)
			}
		}

		// A batch each, and a handler that does not look meanwhile.
		s.Put(configMap("plug", "1"))
		synctest.Wait()
		for range 3 {
			s.Delete(key("a"))
			synctest.Wait()
			s.Put(configMap("a", "3"))
			synctest.Wait()
		}
		s.Delete(key("a"))
		close(hold)
		synctest.Wait()
		const all = "[uid-1 uid-2 uid-3 uid-4 uid-5 uid-7 uid-8 uid-9]"
		for name, e := range map[string]*ends{"source": &source, "handler": &prompt, "blocked handler": &blocked} {
			if got := e.sorted(); got != all {
				t.Errorf("%s was told of the end of %s, want %s", name, got, all)
			}
		}
	})
}

// TestEndsOfManyIncarnations: a source is told the UID of each, however many one read brings.
func TestEndsOfManyIncarnations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		in := newInformer(t, s)
		var e ends
		if _, err := in.Subscribe("source", e.changed); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		defer stop()
		synctest.Wait()
		s.Cut()
		for range 50 {
			s.Put(configMap("a", "1"))
			s.Delete(key("a"))
		}
		for range 50 {
			s.Put(configMap("b", "1"))
			s.Delete(key("b"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		if all := slices.Compact(slices.Sorted(slices.Values(e.told))); len(all) != 100 {
			t.Errorf("told of the end of %d incarnations, want 100", len(all))
		}
	})
}

// TestEndsOfUndecodable: an incarnation that the handler could not be shown ends as well.
func TestEndsOfUndecodable(t *testing.T) {
	for _, tc := range []struct {
		name string
		then func(*feedtest.Server)
		want string
	}{
		{"then one that can be read", func(s *feedtest.Server) { s.Delete(key("a")); s.Put(configMap("a", "2")) }, "[uid-1 uid-2]"},
		{"then none", func(s *feedtest.Server) { s.Delete(key("a")) }, "[uid-1 uid-2]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.Put(configMap("a", "1"))
				in := newInformer(t, s)
				var e ends
				if _, err := informer.AddHandler(in, e.handler()); err != nil {
					t.Fatal(err)
				}
				stop := start(t, in)
				defer stop()
				synctest.Wait()
				s.Cut()
				s.Delete(key("a"))
				s.PutJSON(key("a"), "", `"data":7`)
				time.Sleep(time.Minute)
				tc.then(s)
				synctest.Wait()
				if got := e.sorted(); got != tc.want {
					t.Errorf("told of the end of %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// TestLiveEndsOfIncarnations: eight goroutines make and delete one object over and over, and each waits
// to be told of the end of what it made: by a source, and by a handler.
func TestLiveEndsOfIncarnations(t *testing.T) {
	c, ns := newClient(t)
	f, err := cache.New(cache.Connect(c), cache.Options{Namespaces: []string{ns}})
	if err != nil {
		t.Fatal(err)
	}
	maps, err := cache.Open[corev1.ConfigMap](t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var source, handler ends
	if _, err := maps.Informer().Subscribe("source", source.changed); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.AddHandler(handler.handler()); err != nil {
		t.Fatal(err)
	}
	stop := start(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := f.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	g, _ := run.New(ctx)
	for w := range 8 {
		g.Go(fmt.Sprintf("writer %d", w), func(ctx context.Context) error {
			for range 10 {
				var made []*corev1.ConfigMap
				for range 3 {
					o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("w", w)}}
					is, err := client.Create(ctx, c, o)
					if err != nil {
						return err
					}
					if err := client.Delete(ctx, c, is); err != nil {
						return err
					}
					made = append(made, is)
				}
				for _, o := range made {
					for _, e := range []*ends{&source, &handler} {
						if err := e.wait(ctx, o.UID); err != nil {
							t.Errorf("nobody told of the end of %s: %v", o.UID, err)
						}
					}
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	stop()
}
