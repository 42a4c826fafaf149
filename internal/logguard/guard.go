// Package logguard keeps a log that takes nothing from holding up those who log: a full pipe, a
// disk that hangs, a handler that waits for a network.
//
//	logger := logguard.Logger(options.Logger)
//	logger.Info("the lease is lost") // returns within a second, whatever becomes of the line
//
// Each line is given to the handler on a goroutine of its own, and the caller waits for that: for
// as long as the log works, lines are written in order, and are written when the call returns. A
// line that takes longer than [Patience] is left behind, and until the handler has come back from
// it all others are dropped and counted. Then one line says how many.
package logguard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
)

// Patience is how long somebody waits for the handler, once: while it is known to be stuck, nobody
// waits.
const Patience = time.Second

// guard is what all handlers share that were derived from one.
type guard struct {
	turn chan struct{} // has one token, taken by whoever is in the handler

	mu      sync.Mutex
	stuck   bool   // whoever has the turn has it for too long
	dropped uint64 // in all
	unsaid  uint64 // of those: not reported yet
}

// handler implements slog.Handler.
type handler struct {
	*guard
	inner slog.Handler
}

// Logger is a logger that writes to the handler of l and cannot be held up by it. nil: that of
// slog.Default(). One that is guarded already is returned as it is.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if _, guarded := l.Handler().(*handler); guarded {
		return l
	}
	g := &guard{turn: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	return slog.New(&handler{guard: g, inner: l.Handler()})
}

// Stuck reports whether a line of a guarded logger, or of one derived from it, is in the handler for
// longer than [Patience]: a goroutine waits there.
func Stuck(l *slog.Logger) bool {
	h, ok := l.Handler().(*handler)
	return ok && h.isStuck()
}

// Dropped is how many lines of a guarded logger, and of those derived from it, were dropped.
func Dropped(l *slog.Logger) uint64 {
	h, ok := l.Handler().(*handler)
	if !ok {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

func (g *guard) isStuck() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stuck
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

// Handle implements slog.Handler. If the handler beneath panics so does Handle, if it still waits.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case <-h.turn:
	default:
		if h.isStuck() {
			h.drop()
			return nil
		}
		select {
		case <-h.turn:
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
		if l.leave() {
			return nil
		}
	}
	if p, ok := errors.AsType[*run.PanicError](l.err); ok {
		panic(p)
	}
	return l.err
}

func (g *guard) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropped++
	g.unsaid++
}

// takeUnsaid is how many dropped lines are to be reported.
func (g *guard) takeUnsaid() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.unsaid
	g.unsaid = 0
	return n
}

// line is one that is being written, by whoever has the turn.
type line struct {
	*handler
	record slog.Record
	over   bool          // under the lock of guard
	done   chan struct{} // closed when it is over
	err    error         // then
}

// leave says that nobody waits for the line any more. It is false if that is over.
func (l *line) leave() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stuck = !l.over
	return l.stuck
}

// write ends with the turn given back.
func (l *line) write(ctx context.Context) {
	l.err = run.ErrGoexit
	defer func() {
		l.mu.Lock()
		l.over, l.stuck = true, false
		l.mu.Unlock()
		l.turn <- struct{}{}
		close(l.done)
	}()
	l.err = run.Safely("log handler", func() error { return l.inner.Handle(ctx, l.record) })
	if n := l.takeUnsaid(); n > 0 && l.inner.Enabled(ctx, slog.LevelWarn) {
		dropped := slog.NewRecord(time.Now(), slog.LevelWarn, "lines were dropped, since the log took nothing", 0)
		dropped.AddAttrs(slog.Uint64("lines", n))
		_ = run.Safely("log handler", func() error { return l.inner.Handle(ctx, dropped) })
	}
}
