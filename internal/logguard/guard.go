// Package logguard keeps a blocked log from blocking its callers. A log blocks on a full pipe, a
// hanging disk, or a handler that waits for a network.
//
//	logger := logguard.Logger(options.Logger)
//	logger.Info("the lease is lost") // returns within a second, even if the log is blocked
//
// Each line goes to the handler on a goroutine of its own, and the caller waits for it. While the
// log works, lines are written in order, and are written when the call returns. A line that takes
// longer than [Patience] is left behind. Until the handler returns from it, all other lines are
// dropped and counted. Then one line reports their number.
package logguard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/run"
)

// Patience is how long a caller waits for the handler. While the handler is known to be stuck,
// callers do not wait.
const Patience = time.Second

// guard is shared by all handlers derived from one.
type guard struct {
	token chan struct{} // holds one token; the goroutine inside the handler has it

	stuck      atomic.Bool   // the holder of the token exceeds Patience. mu guards writes
	dropped    atomic.Uint64 // total
	unreported atomic.Uint64 // dropped and not reported yet

	mu sync.Mutex
}

// handler implements slog.Handler.
type handler struct {
	*guard
	inner slog.Handler
}

// Logger returns a logger that writes to the handler of l and is never blocked by it. nil means
// slog.Default(). A guarded logger is returned unchanged.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if _, guarded := l.Handler().(*handler); guarded {
		return l
	}
	g := &guard{token: make(chan struct{}, 1)}
	g.token <- struct{}{}
	return slog.New(&handler{guard: g, inner: l.Handler()})
}

// Stuck reports whether the handler has held a line of a guarded logger, or of one derived from it,
// for longer than [Patience]. A goroutine waits there.
func Stuck(l *slog.Logger) bool {
	h, ok := l.Handler().(*handler)
	return ok && h.stuck.Load()
}

// Dropped returns the number of dropped lines of a guarded logger and of those derived from it.
func Dropped(l *slog.Logger) uint64 {
	h, ok := l.Handler().(*handler)
	if !ok {
		return 0
	}
	return h.dropped.Load()
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{guard: h.guard, inner: h.inner.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{guard: h.guard, inner: h.inner.WithGroup(name)}
}

// Handle implements slog.Handler. If the inner handler panics while Handle waits, Handle panics
// too.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case <-h.token:
	default:
		if h.stuck.Load() {
			h.drop()
			return nil
		}
		select {
		case <-h.token:
		case <-patience.C:
			h.drop()
			return nil
		}
	}
	l := &line{handler: h, record: r.Clone(), done: make(chan struct{})}
	go l.write(ctx)
	select {
	case <-l.done:
	case <-patience.C:
		if l.abandon() {
			return nil
		}
	}
	if p, ok := errors.AsType[*run.PanicError](l.err); ok {
		panic(p)
	}
	return l.err
}

func (g *guard) drop() {
	g.dropped.Add(1)
	g.unreported.Add(1)
}

// line is a line that is being written by the holder of the token.
type line struct {
	*handler
	record  slog.Record
	written bool          // guarded by guard.mu
	done    chan struct{} // closed when written
	err     error         // set when written
}

// abandon stops waiting for the line. It returns false if the line is already written.
func (l *line) abandon() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stuck.Store(!l.written)
	return !l.written
}

// write writes the line and returns the token.
func (l *line) write(ctx context.Context) {
	l.err = run.ErrGoexit
	defer func() {
		l.mu.Lock()
		l.written = true
		l.stuck.Store(false)
		l.mu.Unlock()
		l.token <- struct{}{}
		close(l.done)
	}()
	l.err = run.Safely("log handler", func() error { return l.inner.Handle(ctx, l.record) })
	if n := l.unreported.Swap(0); n > 0 && l.inner.Enabled(ctx, slog.LevelWarn) {
		dropped := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped: the log was blocked", 0)
		dropped.AddAttrs(slog.Uint64("lines", n))
		_ = run.Safely("log handler", func() error { return l.inner.Handle(ctx, dropped) })
	}
}
