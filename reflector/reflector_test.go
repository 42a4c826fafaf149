package reflector

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

var errEnough = errors.New("enough")

// running starts a Reflector in the bubble, and stops it at the end of the test.
func running(t *testing.T, src Source, sink Sink, o Options) (r *Reflector, stop func()) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := New(src, sink, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		t.Helper()
		cancel(errEnough)
		if err := <-done; err != errEnough {
			t.Errorf("Run returned %v", err)
		}
		if s := r.State(); s.Phase != Stopped || s.Err != errEnough {
			t.Errorf("after Run: %+v", s)
		}
	}
}

func status(f ...string) error { return scriptedError(f) }

func TestPagedListThenWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *stream
		src := &scripted{
			onList: func(n int, q wire.ListQuery) (string, error) {
				if n == 1 {
					return list(9, "p2", pod("a", 3), pod("b", 5)), nil
				}
				return list(9, "", pod("c", 4)), nil
			},
			onWatch: func(n int, q wire.WatchQuery, s *stream) error {
				w = s
				return nil
			},
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{Paged: true, PageSize: 2})
		defer stop()
		synctest.Wait()
		sink.has(t, "a@3", "b@5", "c@4")
		if q := src.lists[0]; q.ResourceVersion != "" || q.Match != "" || q.Limit != 2 {
			t.Errorf("first page: %+v", q)
		}
		if q := src.lists[1]; q.ResourceVersion != "" || q.Match != "" || q.Limit != 2 || q.Continue != "p2" {
			t.Errorf("second page: %+v", q)
		}
		if q := src.watches[0]; q.ResourceVersion != "9" || q.SendInitialEvents || q.Timeout < 5*time.Minute || q.Timeout > 10*time.Minute {
			t.Errorf("watch: %+v", q)
		}
		w.send(frame("ADDED", pod("d", 10)), frame("MODIFIED", pod("a", 11)), frame("DELETED", pod("b", 12)), bookmark(20, false))
		synctest.Wait()
		sink.has(t, "a@11", "c@4", "d@10")
		if s := r.State(); s.Phase != Synced || !s.HasSynced || s.ResourceVersion != "20" || s.Err != nil {
			t.Errorf("state: %+v", s)
		}
	})
}

func TestStreamedListIsShownAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *stream
		src := &scripted{onWatch: func(n int, q wire.WatchQuery, s *stream) error {
			w = s
			return nil
		}}
		sink := newContent()
		r, stop := running(t, src, sink, Options{})
		defer stop()
		synctest.Wait()
		w.send(frame("ADDED", pod("a", 3)), frame("ADDED", pod("b", 5)))
		synctest.Wait()
		sink.has(t)
		if s := r.State(); s.Phase != Listing || s.HasSynced {
			t.Errorf("state: %+v", s)
		}
		w.send(bookmark(9, true), frame("DELETED", pod("a", 10)))
		synctest.Wait()
		sink.has(t, "b@5")
		if !src.watches[0].SendInitialEvents || len(src.watches) != 1 {
			t.Errorf("watches: %+v", src.watches)
		}
	})
}

// A busy watch lives as long as it was asked to; one that ends as agreed goes on without a list.
func TestWatchEndsAsAgreedWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := 9
		src := &scripted{
			onWatch: func(_ int, q wire.WatchQuery, s *stream) error {
				go func() {
					end := time.After(q.Timeout)
					for {
						select {
						case <-time.After(20 * time.Second):
							version++
							s.send(frame("MODIFIED", pod("a", version)))
						case <-end:
							s.finish(io.EOF)
							return
						case <-s.ctx.Done():
							return
						}
					}
				}()
				return nil
			},
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{Paged: true, MinTimeout: 10 * time.Minute})
		defer stop()
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		if lists, watches := src.counts(); lists != 1 || watches != 1 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
		sink.has(t, "a@38")
		time.Sleep(time.Hour)
		synctest.Wait()
		if lists, watches := src.counts(); lists != 1 || watches != 7 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
		if s := r.State(); s.Phase != Synced || s.Restarts[whyEnded] != 6 || s.Episode != 0 {
			t.Errorf("state: %+v", s)
		}
	})
}

// A watch that is stuck is noticed in 45 s, whether its connection is dead, or all of them are.
func TestSilentConnection(t *testing.T) {
	for _, dead := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var healed time.Time
			src := &scripted{}
			src.onWatch = func(n int, q wire.WatchQuery, s *stream) error {
				if n == 1 || dead && time.Now().Before(healed) {
					if n > 1 { // not even an answer
						<-s.ctx.Done()
						return s.ctx.Err()
					}
					return nil
				}
				s.send(frame("ADDED", pod("a", 10)))
				return nil
			}
			sink := newContent()
			start := time.Now()
			healed = start.Add(5 * time.Minute)
			r, stop := running(t, src, sink, Options{Paged: true})
			defer stop()
			time.Sleep(45 * time.Second)
			synctest.Wait()
			if !dead {
				sink.has(t, "a@10")
				return
			}
			if s := r.State(); s.Phase != Stale || s.Err == nil || time.Since(s.Since) > 5*time.Second {
				t.Errorf("45 s after the last frame: %+v", s)
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			sink.has(t, "a@10")
			if lists, _ := src.counts(); lists != 1 {
				t.Errorf("%d lists", lists)
			}
		})
	}
}

// A quiet kind costs two or three requests a minute, and no list.
func TestQuietKindCostsNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := 9
		src := &scripted{
			onWatch: func(_ int, q wire.WatchQuery, s *stream) error {
				go func() {
					at := min(q.Timeout-2*time.Second, time.Minute) // when an API server sends its bookmark
					select {
					case <-time.After(at):
						version += 5
						s.send(bookmark(version, false))
					case <-s.ctx.Done():
						return
					}
					select {
					case <-time.After(q.Timeout - at):
						s.finish(io.EOF)
					case <-s.ctx.Done():
					}
				}()
				return nil
			},
		}
		r, stop := running(t, src, newContent(), Options{Paged: true})
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		lists, watches := src.counts()
		if lists != 1 || watches < 110 || watches > 155 {
			t.Errorf("%d lists, %d watches in an hour", lists, watches)
		}
		if s := r.State(); s.Phase != Synced || s.Probes != 0 || s.Episode != 0 {
			t.Errorf("state: %+v", s)
		}
	})
}

func TestCutInAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{}
		src.onWatch = func(n int, q wire.WatchQuery, s *stream) error {
			if n == 1 {
				whole := frame("ADDED", pod("b", 11))
				s.send(frame("ADDED", pod("a", 10)), whole[:len(whole)/2]).finish(io.ErrUnexpectedEOF)
				return nil
			}
			s.send(frame("ADDED", pod("b", 11)))
			return nil
		}
		sink := newContent()
		_, stop := running(t, src, sink, Options{Paged: true})
		defer stop()
		time.Sleep(time.Second)
		synctest.Wait()
		sink.has(t, "a@10", "b@11")
		if q := src.watches[1]; q.ResourceVersion != "10" {
			t.Errorf("resumed at %q", q.ResourceVersion)
		}
		if lists, _ := src.counts(); lists != 1 {
			t.Errorf("%d lists", lists)
		}
	})
}

func TestGarbageFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{onList: func(n int, q wire.ListQuery) (string, error) {
			if n == 1 {
				return list(9, ""), nil
			}
			return list(12, "", pod("a", 10), pod("b", 11)), nil
		}}
		src.onWatch = func(n int, q wire.WatchQuery, s *stream) error {
			switch n {
			case 1:
				s.send(frame("ADDED", pod("a", 10)), "}{ garbage\n")
			case 2:
				s.send("\x00\x01")
			}
			return nil
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{Paged: true})
		defer stop()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		sink.has(t, "a@10", "b@11")
		if len(sink.problems) != 2 || sink.problems[0].ResourceVersion != "10" {
			t.Errorf("reported: %+v", sink.problems)
		}
		if q := src.watches[1]; q.ResourceVersion != "10" {
			t.Errorf("resumed at %q", q.ResourceVersion)
		}
		if s := r.State(); s.Relists[whyGarbage] != 1 {
			t.Errorf("state: %+v", s)
		}
	})
}

// One object that cannot be read is rejected; everything else of the kind is there and stays live.
func TestUndecodableObjectLeavesTheRestLive(t *testing.T) {
	bad := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"bad","namespace":"ns","resourceVersion":"4","labels":7}}`
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{
			onList: func(int, wire.ListQuery) (string, error) {
				return list(9, "", pod("a", 3), bad, pod("b", 5)), nil
			},
			onWatch: func(_ int, _ wire.WatchQuery, s *stream) error {
				s.send(frame("MODIFIED", strings.ReplaceAll(bad, `"bad"`, `"worse"`)), frame("MODIFIED", pod("a", 13)))
				return nil
			},
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{Paged: true})
		defer stop()
		synctest.Wait()
		if sink.pods["a"] != "13" || sink.pods["b"] != "5" {
			t.Errorf("sink: %v", sink.pods)
		}
		for _, name := range []string{"bad", "worse"} {
			if sink.rejected[object.Key{Namespace: "ns", Name: name}] == nil {
				t.Errorf("%s was not rejected: %v", name, sink.rejected)
			}
		}
		if len(sink.problems) != 2 {
			t.Errorf("reported: %+v", sink.problems)
		}
		if s := r.State(); s.Phase != Synced || s.ResourceVersion != "13" || s.Episode != 0 {
			t.Errorf("state: %+v", s)
		}
	})
}

// A server that asks for a pause gets it, and is not listed again; nor is one that is away.
func TestRequestedPausesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &scripted{}
		src.onList = func(n int, q wire.ListQuery) (string, error) {
			if n == 1 {
				return "", status("429", "after", "7")
			}
			return list(9, ""), nil
		}
		src.onWatch = func(n int, q wire.WatchQuery, s *stream) error {
			if n == 1 {
				return status("429", "after", "20")
			}
			s.send(frame("ADDED", pod("a", 10)))
			return nil
		}
		sink := newContent()
		start := time.Now()
		_, stop := running(t, src, sink, Options{Paged: true})
		defer stop()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		sink.has(t, "a@10")
		if d := src.started[0].Sub(start); d < 7*time.Second {
			t.Errorf("listed again after %v", d)
		}
		if d := src.started[1].Sub(src.started[0]); d < 20*time.Second {
			t.Errorf("watched again after %v", d)
		}
		if lists, watches := src.counts(); lists != 2 || watches != 2 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
	})
}

func TestServerAwayForMinutes(t *testing.T) {
	refusedDial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(6 * time.Minute)
		src := &scripted{onList: func(int, wire.ListQuery) (string, error) { return list(9, "", pod("a", 3)), nil }}
		src.onWatch = func(n int, q wire.WatchQuery, s *stream) error {
			switch {
			case n == 1:
				s.finish(io.ErrUnexpectedEOF)
			case time.Now().Before(back):
				return refusedDial
			default:
				s.send(frame("ADDED", pod("b", 10)))
			}
			return nil
		}
		sink := newContent()
		var text bytes.Buffer
		var mu sync.Mutex
		var phases []Phase
		r, stop := running(t, src, sink, Options{
			Paged: true, Resource: "pods",
			Logger:  slog.New(slog.NewTextHandler(&text, nil)),
			OnState: func(s State) { mu.Lock(); phases = append(phases, s.Phase); mu.Unlock() },
		})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		s := r.State()
		if s.Phase != Stale || !errors.Is(s.Err, syscall.ECONNREFUSED) || !strings.HasPrefix(s.Err.Error(), "watch pods: ") {
			t.Errorf("while away: %+v", s)
		}
		sink.has(t, "a@3")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		sink.has(t, "a@3", "b@10")
		if lists, watches := src.counts(); lists != 1 || watches > 60 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
		stop()
		if n := strings.Count(text.String(), "\n"); n != 2 {
			t.Errorf("%d lines of log:\n%s", n, text.String())
		}
		if phases[0] != Listing || phases[1] != Synced || phases[2] != Stale || phases[len(phases)-2] != Synced || phases[len(phases)-1] != Stopped {
			t.Errorf("told of %v", phases)
		}
	})
}

// Many kinds that start at once list a few at a time.
func TestLimiterBoundsConcurrentLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		active, most := 0, 0
		limiter := NewLimiter(LimiterOptions{Lists: 4, Patience: -1})
		var stops []func()
		var all []*Reflector
		for range 50 {
			src := &scripted{onWatch: func(_ int, q wire.WatchQuery, s *stream) error {
				if !q.SendInitialEvents {
					return nil
				}
				mu.Lock()
				active++
				most = max(most, active)
				mu.Unlock()
				time.Sleep(5 * time.Second) // it takes its time to answer
				mu.Lock()
				active--
				mu.Unlock()
				s.send(bookmark(9, true))
				return nil
			}}
			r, stop := running(t, src, newContent(), Options{Limiter: limiter})
			all, stops = append(all, r), append(stops, stop)
		}
		time.Sleep(20 * time.Second)
		for _, stop := range stops[:5] {
			stop() // some of them wait for a permit
		}
		time.Sleep(2 * time.Minute)
		for _, r := range all[5:] {
			if s := r.State(); !s.HasSynced || s.Episode != 0 {
				t.Errorf("not synced: %+v", s)
			}
		}
		if most != 4 {
			t.Errorf("%d at a time", most)
		}
		for _, stop := range stops[5:] {
			stop()
		}
		if n := len(limiter.slots); n != 0 {
			t.Errorf("%d permits were not released", n)
		}
	})
}

// A list that goes nowhere is given up, and one that is open when Run ends is aborted.
func TestStalledListIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newContent()
		src := &scripted{onWatch: func(n int, _ wire.WatchQuery, s *stream) error {
			if n == 1 {
				s.send(frame("ADDED", pod("a", 3)))
			}
			return nil
		}, onList: func(int, wire.ListQuery) (string, error) {
			return list(9, "", pod("a", 3)), nil
		}}
		r, stop := running(t, src, sink, Options{InitialEvents: 30 * time.Second})
		time.Sleep(29 * time.Second)
		synctest.Wait()
		sink.has(t)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sink.has(t, "a@3")
		if s := r.State(); !s.NoStream {
			t.Errorf("state: %+v", s)
		}
		stop()
		if sink.begins != 2 || sink.aborts != 1 || sink.completes != 1 {
			t.Errorf("begins %d, aborts %d, completes %d", sink.begins, sink.aborts, sink.completes)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		sink := newContent()
		src := &scripted{onWatch: func(int, wire.WatchQuery, *stream) error { return nil }}
		_, stop := running(t, src, sink, Options{})
		synctest.Wait()
		stop()
		if sink.begins != 1 || sink.aborts != 1 {
			t.Errorf("begins %d, aborts %d", sink.begins, sink.aborts)
		}
	})
}

func TestTimeoutOfWatches(t *testing.T) {
	for _, tt := range []struct{ least, most, wantLeast, wantMost time.Duration }{
		{0, 0, 5 * time.Minute, 10 * time.Minute},
		{time.Minute, 0, time.Minute, 10 * time.Minute},
		{20 * time.Minute, 0, 20 * time.Minute, 20 * time.Minute},
		{0, time.Minute, time.Minute, time.Minute},
		{time.Minute, 2 * time.Minute, time.Minute, 2 * time.Minute},
	} {
		c := newCore(Options{MinTimeout: tt.least, MaxTimeout: tt.most})
		if least, most := c.drawTimeout(stepTime{random: 0}), c.drawTimeout(stepTime{random: 1}); least != tt.wantLeast || most != tt.wantMost {
			t.Errorf("%v to %v: watches last from %v to %v", tt.least, tt.most, least, most)
		}
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	src, sink := &scripted{}, newContent()
	for _, test := range []struct {
		src  Source
		sink Sink
		cfg  Options
		want string
	}{
		{nil, sink, Options{}, "source"},
		{src, nil, Options{}, "sink"},
		{src, sink, Options{MinTimeout: 2, MaxTimeout: 1}, "MinTimeout, MaxTimeout"},
		{src, sink, Options{MinTimeout: -1}, "MinTimeout, MaxTimeout"},
		{src, sink, Options{InitialEvents: -1}, "InitialEvents"},
		{src, sink, Options{Absent: -1}, "Absent"},
	} {
		if _, err := New(test.src, test.sink, test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v does not name %s", err, test.want)
		}
	}
	r, err := New(src, sink, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if err := r.Run(ctx); err != errEnough {
		t.Errorf("Run under an ended ctx: %v", err)
	}
	if err := r.Run(t.Context()); !errors.Is(err, run.ErrRunning) {
		t.Errorf("second Run: %v", err)
	}
}

func TestEntryOfABadObjectKeepsItsKey(t *testing.T) {
	e := newEntry(wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(pod("a", 3))})
	if e.Err() != nil || e.Header().ResourceVersion != "3" {
		t.Errorf("%+v: %v", e.Header(), e.Err())
	}
	e = newEntry(wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(`{"metadata":{"name":"a","labels":[]}}`)})
	if e.Err() == nil || e.Header().Name != "a" {
		t.Errorf("%+v: %v", e.Header(), e.Err())
	}
}
