package reflector

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// What an event without a readable key may have hidden is found by a list, whatever the event is.
func TestEventThatCannotBePlaced(t *testing.T) {
	for name, bad := range map[string]string{
		"name is a number": frame("DELETED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":7,"namespace":"ns","resourceVersion":"12"}}`),
		"no name":          frame("DELETED", `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","resourceVersion":"12"}}`),
		"no metadata":      frame("DELETED", `{"kind":"Pod","apiVersion":"v1"}`),
		"empty":            frame("DELETED", `{}`),
		"null":             frame("DELETED", `null`),
		"a text":           frame("DELETED", `"a"`),
		"nothing":          `{"type":"DELETED"}` + "\n",
		"a Table":          frame("DELETED", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"12"},"rows":[]}`),
		"another kind":     frame("DELETED", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"12"}}`),
		"another group":    frame("MODIFIED", `{"kind":"Pod","apiVersion":"x/v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"12"}}`),
		"late kind":        frame("ADDED", `{"metadata":{"name":"a","namespace":"ns","resourceVersion":"12"},"kind":"Secret","apiVersion":"v1"}`),
		"no namespace":     frame("DELETED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"12"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &scripted{onList: func(n int, _ wire.ListQuery) (string, error) {
					if n == 1 {
						return list(9, "", pod("a", 3), pod("c", 4)), nil
					}
					return list(13, "", pod("b", 13), pod("c", 4)), nil
				}}
				src.onWatch = func(n int, _ wire.WatchQuery, s *stream) error {
					if n == 1 {
						s.send(frame("MODIFIED", pod("c", 10)), bad, frame("MODIFIED", pod("c", 13)))
					}
					return nil
				}
				sink := newContent()
				r, stop := running(t, src, sink, Options{Paged: true})
				defer stop()
				time.Sleep(15 * time.Second)
				synctest.Wait()
				sink.has(t, "b@13", "c@4")
				if s := r.State(); s.Phase != Synced || s.Relists[whyUnplaced] != 1 || src.lists[1].ResourceVersion != "" {
					t.Errorf("%+v, %+v", s, src.lists)
				}
				if len(sink.problems) != 1 {
					t.Errorf("reported: %v", sink.problems)
				}
			})
		})
	}
}

// A server that sends such events for ever is never in sync, and not asked in a hot loop.
func TestEventsThatCannotBePlaced(t *testing.T) {
	for name, bad := range map[string]string{
		"frames": frame("ADDED", `{"metadata":{"name":1}}`),
		"errors": frame("ERROR", statusJSON(500, "StorageReadError")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &scripted{onWatch: func(_ int, _ wire.WatchQuery, s *stream) error { s.send(bad); return nil }}
				var synced int
				r, stop := running(t, src, newContent(), Options{
					Paged: true, OnState: func(s State) {
						if s.Phase == Synced {
							synced++
						}
					},
				})
				defer stop()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				lists, watches := src.counts()
				if s := r.State(); s.Phase != Stale || synced > 2 || lists > 100 || watches > 100 {
					t.Errorf("in sync %d times, %d lists, %d watches, %+v", synced, lists, watches, s)
				}
			})
		})
	}
}

// A kind of which nothing comes after such events is soon in sync again, however quiet it is.
func TestInSyncSoonAfterDoubt(t *testing.T) {
	for name, bad := range map[string]string{"unplaced": frame("ADDED", `{"metadata":{"name":1}}`), "garbage": "}{"} {
		for _, paged := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, paged %t", name, paged), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sent := 0
					src := &scripted{onWatch: func(_ int, q wire.WatchQuery, s *stream) error {
						if q.SendInitialEvents {
							s.send(bookmark(9, true))
						}
						if sent < 2 {
							sent++
							s.send(bad)
						}
						return nil
					}}
					r, stop := running(t, src, newContent(), Options{Paged: paged})
					defer stop()
					time.Sleep(6 * time.Second)
					synctest.Wait()
					if s := r.State(); s.Phase != Synced || sent != 2 {
						t.Errorf("after %d events %+v", sent, s)
					}
					_, before := src.counts()
					time.Sleep(20 * time.Second)
					if _, after := src.counts(); after > before+1 {
						t.Errorf("%d watches in 20 s", after-before)
					}
				})
			})
		}
	}
}

// The deletion of an object of which only the key can be read is one.
func TestDeletionWithABareKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{onList: func(int, wire.ListQuery) (string, error) { return list(9, "", pod("a", 3)), nil }}
		src.onWatch = func(_ int, _ wire.WatchQuery, s *stream) error {
			s.send(frame("DELETED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","labels":7}}`))
			return nil
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{Paged: true})
		defer stop()
		synctest.Wait()
		sink.has(t)
		if s := r.State(); s.Phase != Synced || len(s.Relists) != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// A list of another kind, or of objects of another kind, is an error, and what is held stays.
func TestListOfAnotherKind(t *testing.T) {
	secret := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"12"}}`
	for name, body := range map[string]string{
		"another kind":   `{"kind":"Whatever","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[]}`,
		"its own kind":   `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"20"}}`,
		"another list":   `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[]}`,
		"late":           `{"items":[],"metadata":{"resourceVersion":"20"},"kind":"SecretList","apiVersion":"v1"}`,
		"another group":  `{"kind":"PodList","apiVersion":"x/v1","metadata":{"resourceVersion":"20"},"items":[]}`,
		"no kind":        `{"metadata":{"resourceVersion":"20"},"items":[]}`,
		"a Table":        `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"20"},"rows":[]}`,
		"foreign items":  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[` + secret + `]}`,
		"a foreign item": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[` + pod("b", 4) + `,` + secret + `]}`,
		"no items":       `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &scripted{}
				src.onList = func(n int, _ wire.ListQuery) (string, error) {
					if n == 1 {
						return list(9, "", pod("a", 3)), nil
					}
					return body, nil
				}
				src.onWatch = func(int, wire.WatchQuery, *stream) error { return status("410") }
				sink := newContent()
				r, stop := running(t, src, sink, Options{Paged: true})
				defer stop()
				time.Sleep(time.Minute)
				synctest.Wait()
				sink.has(t, "a@3")
				if s := r.State(); s.Phase != Stale || s.Err == nil {
					t.Errorf("%+v", s)
				}
				if lists, _ := src.counts(); lists > 20 {
					t.Errorf("%d lists", lists)
				}
			})
		})
	}
}

// A server that ends each watch after one event is kept up with, at a few requests a second.
func TestOneEventAndTheEnd(t *testing.T) {
	for name, end := range map[string]error{"ended": io.EOF, "cut": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const objects = 100
				var latest atomic.Int64
				src := &scripted{onList: func(int, wire.ListQuery) (string, error) {
					var pods []string
					newest := int(latest.Load())
					for i := 1; i <= newest; i++ {
						pods = append(pods, pod(fmt.Sprint("p", i), i))
					}
					return list(max(newest, 1), "", pods...), nil
				}}
				src.onWatch = func(_ int, q wire.WatchQuery, s *stream) error {
					var from int
					newest := int(latest.Load())
					fmt.Sscan(q.ResourceVersion, &from)
					if from = max(from, 0); from < newest {
						s.send(frame("ADDED", pod(fmt.Sprint("p", from+1), from+1))).finish(end)
					}
					return nil
				}
				sink := newContent()
				r, stop := running(t, src, sink, Options{Paged: true})
				defer stop()
				time.Sleep(time.Second)
				latest.Store(objects + 1)
				time.Sleep(40 * time.Second) // the first watch is silent for that long
				synctest.Wait()
				if n := len(sink.pods); n != objects+1 {
					t.Errorf("%d objects: %+v", n, r.State())
				}
				if lists, watches := src.counts(); lists > 3 || watches > 30 {
					t.Errorf("%d lists, %d watches", lists, watches)
				}
			})
		})
	}
}

// Events in no order cost two lists in all.
func TestEventsInNoOrder(t *testing.T) {
	for name, versions := range map[string]func(n int) (event, list int){
		"pairs swapped":      func(n int) (int, int) { return 100 + n ^ 1, 100 + n | 1 },
		"versions by object": func(n int) (int, int) { return 1 + n/2 + 1000*(n%2), 1 + n },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, live := 0, map[string]int{}
				src := &scripted{}
				src.onList = func(int, wire.ListQuery) (string, error) {
					src.mu.Lock()
					defer src.mu.Unlock()
					var pods []string
					for name, v := range live {
						pods = append(pods, pod(name, v))
					}
					_, v := versions(n)
					return list(v, "", pods...), nil
				}
				var w *stream
				src.onWatch = func(_ int, _ wire.WatchQuery, s *stream) error {
					src.mu.Lock()
					defer src.mu.Unlock()
					w = s
					return nil
				}
				sink := newContent()
				r, stop := running(t, src, sink, Options{Paged: true})
				defer stop()
				for n < 60 {
					time.Sleep(10 * time.Second)
					src.mu.Lock()
					n++
					v, _ := versions(n)
					name := fmt.Sprint("p", n%2)
					live[name] = v
					w.send(frame("MODIFIED", pod(name, v)))
					src.mu.Unlock()
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				var want []string
				for _, name := range []string{"p0", "p1"} {
					want = append(want, fmt.Sprintf("%s@%d", name, live[name]))
				}
				sink.has(t, want...)
				s, relists := r.State(), 0
				for _, n := range s.Relists {
					relists += n
				}
				if relists > 5 || s.Phase != Synced || !s.Unordered {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestOnlyOtherKindsAreForeign(t *testing.T) {
	for _, tt := range []struct {
		apiVersion, kind string
		want             bool
	}{
		{"v1", "Secret", true}, {"x/v1", "Pod", true}, {"v2", "Pod", false}, {"v2", "", false}, {"", "Pod", false}, {"x/v1", "", true},
	} {
		raw := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"a"}}`, tt.apiVersion, tt.kind)}
		if got := newEntry(raw).Key() == (object.Key{}); got != tt.want {
			t.Errorf("%q %q: foreign %v", tt.apiVersion, tt.kind, got)
		}
	}
}
