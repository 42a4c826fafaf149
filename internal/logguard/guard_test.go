package logguard_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// sink accepts lines while its gate is open.
type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
	gate chan struct{} // nil: open
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sink) shut() (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return func() {
		s.mu.Lock()
		s.gate = nil
		s.mu.Unlock()
		close(gate)
	}
}

func (s *sink) lines() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// While the log works, the guard changes nothing.
func TestWorkingLogIsUnchanged(t *testing.T) {
	s := &sink{}
	l := logguard.Logger(logger(s))
	if logguard.Logger(l) != l || logguard.Logger(l.With("a", 1)) == l {
		t.Error("guarded twice")
	}
	l.Info("one", "a", 1)
	l.Debug("not enabled")
	l.With("b", 2).WithGroup("g").Warn("two", "c", 3)
	if want := "msg=one a=1\nmsg=two b=2 g.c=3\n"; s.lines() != want {
		t.Errorf("got %q, want %q", s.lines(), want)
	}
	if logguard.Stuck(l) || logguard.Dropped(l) != 0 || logguard.Stuck(slog.Default()) || logguard.Dropped(slog.Default()) != 0 {
		t.Error("stuck")
	}
	if logguard.Logger(nil) == nil {
		t.Error("nil")
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				l.Info("many")
			}
		})
	}
	all.Wait()
	if n := strings.Count(s.lines(), "many"); n != 1000 {
		t.Errorf("%d of 1000 lines", n)
	}
}

// A blocked log delays all callers together by a second, and later reports the dropped lines.
func TestBlockedLogDelaysCallersOneSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		l := logguard.Logger(logger(s))
		other := l.With("other", true)
		open := s.shut()
		began := time.Now()
		var all sync.WaitGroup
		for range 10 { // concurrently
			all.Go(func() { other.Info("first") })
		}
		all.Wait()
		if d := time.Since(began); d != logguard.Patience {
			t.Errorf("delayed by %v", d)
		}
		for range 1000 {
			l.Info("while it is stuck")
		}
		if d := time.Since(began); d != logguard.Patience || !logguard.Stuck(l) || !logguard.Stuck(other) || logguard.Dropped(l) != 1009 {
			t.Errorf("after %v: stuck %v, %d dropped", d, logguard.Stuck(l), logguard.Dropped(l))
		}
		time.Sleep(time.Hour)
		open()
		synctest.Wait()
		if want := "msg=first other=true\nmsg=\"log lines were dropped: the log was blocked\" other=true lines=1009\n"; s.lines() != want {
			t.Errorf("got %q, want %q", s.lines(), want)
		}
		l.Info("again")
		if !strings.HasSuffix(s.lines(), "msg=again\n") || logguard.Stuck(l) {
			t.Errorf("got %q", s.lines())
		}
	})
}

// A slow log loses nothing while each line, with those before it, takes less than a second.
func TestSlowLogLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := writer(func(p []byte) (int, error) { time.Sleep(300 * time.Millisecond); return len(p), nil })
		l := logguard.Logger(logger(slow))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { l.Info("x") })
		}
		all.Wait()
		if logguard.Dropped(l) != 0 {
			t.Errorf("%d dropped", logguard.Dropped(l))
		}
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

type broken struct {
	slog.Handler
	handle func() error
}

func (b broken) Handle(context.Context, slog.Record) error { return b.handle() }

// A handler's failure affects only the line it was given.
func TestHandlerFailureStaysWithItsLine(t *testing.T) {
	errTest := errors.New("test")
	for name, handle := range map[string]func() error{
		"panics": func() error { panic(errTest) },
		"exits":  func() error { runtime.Goexit(); return nil },
		"fails":  func() error { return errTest },
	} {
		t.Run(name, func(t *testing.T) {
			h := logguard.Logger(slog.New(broken{slog.DiscardHandler, handle})).Handler()
			for range 3 {
				var err error
				panicked := run.Safely("", func() error {
					err = h.Handle(t.Context(), slog.Record{})
					return nil
				})
				switch name {
				case "panics":
					if !errors.Is(panicked, errTest) {
						t.Errorf("%v", panicked)
					}
				case "exits":
					if err != run.ErrGoexit {
						t.Errorf("%v", err)
					}
				default:
					if err != errTest {
						t.Errorf("%v", err)
					}
				}
			}
		})
	}
}

func BenchmarkLine(b *testing.B) {
	for name, l := range map[string]*slog.Logger{"bare": logger(io.Discard), "guarded": logguard.Logger(logger(io.Discard))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.Info("a line", "n", 1)
			}
		})
	}
}
