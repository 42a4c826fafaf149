package reflector

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/wire"
)

// Whatever keeps a streaming list from its end, the plain one is asked for at once; also on a relist.
func TestStreamingListThatFails(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	page := &wire.ContentTypeError{ContentType: "text/html"}
	for name, fail := range map[string]func(*stream) error{
		"400": func(*stream) error { return status("400") }, "405": func(*stream) error { return status("405") },
		"404": func(*stream) error { return status("404") }, "422": func(*stream) error { return status("422") },
		"500": func(*stream) error { return status("500") }, "501": func(*stream) error { return status("501") },
		"503": func(*stream) error { return status("503") }, "504": func(*stream) error { return status("504") },
		"page": func(*stream) error { return page }, "reset": func(*stream) error { return reset },
		"eof":     func(*stream) error { return io.EOF },
		"cut":     func(s *stream) error { s.send(frame("ADDED", pod("x", 1))).finish(io.ErrUnexpectedEOF); return nil },
		"ended":   func(s *stream) error { s.finish(io.EOF); return nil },
		"garbage": func(s *stream) error { s.send("}{"); return nil },
		"error":   func(s *stream) error { s.send(frame("ERROR", statusJSON(500, "InternalError"))); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *stream
				src := &scripted{onList: func(n int, _ wire.ListQuery) (string, error) { return list(9*n, "", pod("a", 3*n)), nil }}
				src.onWatch = func(_ int, q wire.WatchQuery, s *stream) error {
					if q.SendInitialEvents {
						return fail(s)
					}
					w = s
					return nil
				}
				sink := newContent()
				r, stop := running(t, src, sink, Options{})
				defer stop()
				synctest.Wait()
				sink.has(t, "a@3")
				if s := r.State(); s.Phase != Synced || !s.NoStream || w == nil {
					t.Errorf("%+v", s)
					return
				}
				w.send(frame("ERROR", statusJSON(410, "Expired")))
				synctest.Wait()
				sink.has(t, "a@6")
				time.Sleep(90 * time.Minute) // streaming is tried again with the next list
				synctest.Wait()
				lists, _ := src.counts()
				w.send(frame("ERROR", statusJSON(410, "Expired")))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				sink.has(t, fmt.Sprintf("a@%d", 3*(lists+1)))
				streamed := 0
				for _, q := range src.watches {
					if q.SendInitialEvents {
						streamed++
					}
				}
				if streamed != 2 {
					t.Errorf("%d streaming lists", streamed)
				}
			})
		})
	}
}

func statusJSON(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","reason":%q,"code":%d}`, reason, code)
}

// A connection that is refused for the streaming form only costs two tries, and the same goes for 429.
func TestStreamingListThatIsKeptOut(t *testing.T) {
	for name, err := range map[string]error{
		"refused": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"unsent":  &client.UnavailableError{Unsent: true},
		"429":     status("429"), "410": status("410"), "too large": status("504", "type"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &scripted{onWatch: func(_ int, q wire.WatchQuery, s *stream) error {
					if q.SendInitialEvents {
						return err
					}
					return nil
				}}
				r, stop := running(t, src, newContent(), Options{})
				defer stop()
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if lists, watches := src.counts(); lists != 1 || watches != 3 || !r.State().HasSynced {
					t.Errorf("%d lists, %d watches, %+v", lists, watches, r.State())
				}
			})
		})
	}
}

// A streaming list that is forbidden may be so alone: where a role allows lists and no watches the
// content is there and the phase says what is missing, and where only the streaming form is refused
// nothing is. Where nothing is allowed requests stay few.
func TestStreamingListIsForbidden(t *testing.T) {
	for _, tt := range []struct {
		name               string
		noList, noWatch    bool
		has                []string
		phase              Phase
		mostList, mostHour int // lists and watches in an hour
	}{
		{"the form alone", false, false, []string{"a@3"}, Synced, 30, 130}, // those that look after a quiet watch included
		{"watches", false, true, []string{"a@3"}, Forbidden, 130, 130},
		{"all", true, true, nil, Forbidden, 130, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &scripted{onList: func(int, wire.ListQuery) (string, error) {
					if tt.noList {
						return "", status("403")
					}
					return list(9, "", pod("a", 3)), nil
				}}
				src.onWatch = func(_ int, q wire.WatchQuery, s *stream) error {
					if q.SendInitialEvents || tt.noWatch {
						return status("403")
					}
					return nil
				}
				sink := newContent()
				r, stop := running(t, src, sink, Options{})
				defer stop()
				synctest.Wait()
				sink.has(t, tt.has...)
				time.Sleep(time.Hour)
				synctest.Wait()
				sink.has(t, tt.has...)
				s := r.State()
				lists, watches := src.counts()
				if s.Phase != tt.phase || s.HasSynced == tt.noList || lists > tt.mostList || watches > tt.mostHour {
					t.Errorf("%d lists, %d watches, %+v", lists, watches, s)
				}
			})
		})
	}
}

// When both forms fail requests stay few, and the streaming form comes back once it works.
func TestStreamingComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *stream
		var down atomic.Bool
		down.Store(true)
		src := &scripted{onList: func(int, wire.ListQuery) (string, error) {
			if down.Load() {
				return "", status("503")
			}
			return list(9, ""), nil
		}}
		src.onWatch = func(_ int, q wire.WatchQuery, s *stream) error {
			if down.Load() {
				return status("503")
			}
			if w = s; q.SendInitialEvents {
				s.send(frame("ADDED", pod("a", 10)), bookmark(10, true))
			}
			return nil
		}
		sink := newContent()
		r, stop := running(t, src, sink, Options{})
		defer stop()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if lists, watches := src.counts(); lists > 45 || watches > 10 {
			t.Errorf("%d lists, %d watches in five minutes", lists, watches)
		}
		down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := r.State(); s.Phase != Synced {
			t.Errorf("%+v", s)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		w.send(frame("ERROR", statusJSON(410, "Expired")))
		synctest.Wait()
		if s := r.State(); s.NoStream {
			t.Errorf("%+v", s)
		}
		sink.has(t, "a@10")
	})
}

// Pages that go round in circles are an error, and a list without pages gets by without them.
func TestPagesThatDoNotEnd(t *testing.T) {
	for name, next := range map[string]func(n int) (token string, items []string){
		"one token":       func(int) (string, []string) { return "t", []string{pod("a", 3)} },
		"a cycle":         func(n int) (string, []string) { return []string{"A", "B"}[n%2], nil },
		"empty for ever":  func(n int) (string, []string) { return fmt.Sprint(n), nil },
		"the first again": func(n int) (string, []string) { return fmt.Sprint(n), []string{pod("a", 3)} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &scripted{onWatch: func(int, wire.WatchQuery, *stream) error { return nil }}
				var whole atomic.Bool
				src.onList = func(n int, q wire.ListQuery) (string, error) {
					if n > 1000 {
						time.Sleep(time.Second) // enough
					}
					if whole.Load() && q.Limit == 0 {
						return list(9, "", pod("a", 3)), nil
					}
					token, items := next(n)
					return list(9, token, items...), nil
				}
				sink := newContent()
				r, stop := running(t, src, sink, Options{Paged: true})
				defer stop()
				time.Sleep(10 * time.Second)
				synctest.Wait()
				s := r.State()
				if lists, _ := src.counts(); lists > 150 || s.HasSynced || s.Phase != Failing || !errors.Is(s.Err, ErrEndless) {
					t.Errorf("%d lists in 10 s, %+v", lists, s)
				}
				whole.Store(true)
				time.Sleep(time.Minute)
				synctest.Wait()
				sink.has(t, "a@3")
			})
		})
	}
}
