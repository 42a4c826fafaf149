package informer_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// lines is a log.
type lines struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.String(), text)
}

func sleepOn(name string) {
	if name == "slow" {
		time.Sleep(5 * time.Minute)
	}
}

// TestSlowIndexFunction: an index function that sleeps for five minutes makes its own index unreadable
// for as long, and nothing else: objects, other indexes, handlers and the watch go on. It is named once.
func TestSlowIndexFunction(t *testing.T) {
	for name, index := range map[string]store.Indexer{
		"object": informer.IndexFunc(func(m *corev1.ConfigMap) []string {
			sleepOn(m.Name)
			return []string{m.Data["value"]}
		}),
		"entry": store.IndexFunc(func(e *store.Entry) ([]string, error) {
			sleepOn(e.Key().Name)
			var m corev1.ConfigMap
			err := e.Decode(&m)
			return []string{m.Data["value"]}, err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lines
				var told problems
				var heard story
				s := newServer()
				s.Put(configMap("a", "1"))
				in := newInformer(t, s, func(o *informer.Options) {
					o.OnProblem, o.Logger = told.add, slog.New(slog.NewTextHandler(&log, nil))
					o.Indexes = map[string]store.Indexer{"slow": index, "label": informer.IndexPath("metadata.labels[value]")}
				})
				handle(t, in, &heard)
				stop := start(t, in)
				heard.want(t, "at the start", "add a=1 initial")
				under := func(index string) (names []string, err error) {
					all, err := in.Entries(informer.Query{Where: store.Is(index, "2")})
					if err != nil {
						return nil, err
					}
					for e := range all {
						names = append(names, e.Key().Name)
					}
					return names, err
				}
				s.Put(configMap("slow", "2"))
				time.Sleep(time.Second)
				s.Put(configMap("b", "2"))
				s.Put(configMap("a", "3"))
				heard.want(t, "a second later", "add slow=2", "add b=2", "update a=1→3")
				time.Sleep(4 * time.Minute)
				s.Delete(key("a"))
				heard.want(t, "later", "delete a=3@6")
				for _, name := range []string{"b", "slow"} {
					if _, err := in.Entry(key(name)); err != nil {
						t.Errorf("%s cannot be read: %v", name, err)
					}
				}
				if names, err := under("label"); err != nil || len(names) != 2 {
					t.Errorf("another index: %q, %v", names, err)
				}
				_, err := under("slow")
				late, ok := errors.AsType[*store.IndexPendingError](err)
				if !ok || late.Index != "slow" || late.Key != key("slow") || time.Since(late.Asked) != 4*time.Minute+time.Second || !errors.Is(err, object.ErrNoAnswer) {
					t.Errorf("the index answers %v", err)
				}
				if told.len() != 1 {
					t.Fatalf("problems:\n%s", &told)
				}
				if e, ok := errors.AsType[*informer.OverdueError](told.all[0].Err); !ok || e.Part != "index" || e.Name != "slow" || e.Key != key("slow") || e.For != time.Second {
					t.Errorf("told %v", told.all[0])
				}
				if log.count("function takes long") != 1 || log.count("name=slow") != 1 {
					t.Errorf("the log is\n%s", &log)
				}
				if _, _, open := s.Counts(); open != 1 || in.State().Err != nil {
					t.Errorf("%d watches are open, %v", open, in.State().Err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if names, err := under("slow"); err != nil || strings.Join(names, " ") != "b slow" {
					t.Errorf("the index answers %q, %v", names, err)
				}
				s.Put(configMap("slow", "4"))
				time.Sleep(time.Minute)
				began := time.Now()
				_ = stop()
				if took := time.Since(began); took != 4*time.Minute {
					t.Errorf("the function is waited for %v", took)
				}
			})
		})
	}
}

// TestSlowIndexFunctionFails: an object on which a function fails that sleeps is rejected and reported
// then, though nothing else comes.
func TestSlowIndexFunctionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told problems
		s := newServer()
		in := newInformer(t, s, func(o *informer.Options) {
			o.OnProblem = told.add
			o.Indexes = map[string]store.Indexer{"slow": informer.IndexFunc(func(m *corev1.ConfigMap) []string {
				sleepOn(m.Name)
				panic("no such value")
			})}
		})
		stop := start(t, in)
		synctest.Wait()
		s.Put(configMap("slow", "1"))
		time.Sleep(5*time.Minute - 1)
		synctest.Wait()
		if _, err := in.Entry(key("slow")); err != nil || told.len() != 1 {
			t.Errorf("before it failed: %v, problems:\n%s", err, &told)
		}
		time.Sleep(1 * time.Nanosecond)
		synctest.Wait()
		if _, ok := errors.AsType[*store.IndexError](told.all[1].Err); !ok || told.len() != 2 || len(in.Rejected()) != 1 {
			t.Errorf("problems:\n%s", &told)
		}
		if _, err := in.Entry(key("slow")); err == nil {
			t.Error("it is not rejected")
		}
		_ = stop()
	})
}

// TestSlowBesideTheWatch: while a transform sleeps what is held can be read, and the watch is; so it is
// while a source does, but for the first time. They are named once.
func TestSlowBesideTheWatch(t *testing.T) {
	for _, part := range []string{"transform", "source"} {
		t.Run(part, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lines
				var told problems
				s := newServer()
				s.Put(configMap("a", "1"))
				in := newInformer(t, s, func(o *informer.Options) {
					o.OnProblem, o.Logger = told.add, slog.New(slog.NewTextHandler(&log, nil))
					if part == "transform" {
						o.Transform = func(m object.Object) error {
							sleepOn(m.GetName())
							return nil
						}
					}
				})
				if part == "source" {
					if _, err := in.Subscribe("sleepy", func(c store.Change) { sleepOn(c.Key.Name) }); err != nil {
						t.Fatal(err)
					}
				}
				stop := start(t, in)
				synctest.Wait()
				for round := range 2 {
					s.Put(configMap("slow", "2"))
					s.Put(configMap("b", "2"))
					time.Sleep(4 * time.Minute)
					began := time.Now()
					if _, err := in.Entry(key("a")); err != nil {
						t.Error(err)
					}
					if f := in.Figures(); f.Store.Objects == 0 || time.Since(began) != 0 {
						t.Errorf("figures %+v after %v", f, time.Since(began))
					}
					pending := in.Figures().Queued
					s.Put(configMap("a", "5"))
					synctest.Wait()
					if now := in.Figures().Queued; now != pending+1 && (part == "transform" || round == 1) {
						t.Errorf("round %d: the watch is not read: %d and then %d changes wait", round, pending, now)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					if e, err := in.Entry(key("a")); err != nil || e.Header().Labels["value"] != "5" {
						t.Errorf("round %d: afterwards %v, %v", round, e, err)
					}
					s.Put(configMap("a", "6"))
					synctest.Wait()
				}
				if told.len() != 2 {
					t.Fatalf("problems:\n%s", &told)
				}
				if e, ok := errors.AsType[*informer.OverdueError](told.all[0].Err); !ok || e.Part != part || e.Key != key("slow") {
					t.Errorf("told %v", told.all[0])
				}
				if n := log.count("function takes long"); n != 2 {
					t.Errorf("the log is\n%s", &log)
				}
				if _, _, open := s.Counts(); open != 1 || in.State().Err != nil {
					t.Errorf("%d watches are open, %v", open, in.State().Err)
				}
				_ = stop()
			})
		})
	}
}
