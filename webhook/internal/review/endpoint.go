package review

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
)

// Job is one parsed request.
type Job interface {
	// UID returns the UID of the review.
	UID() string
	// Serve handles the request within ctx and appends the answer to out. denied reports a negative
	// verdict. An error other than a *[RefusalError] is answered with 500.
	Serve(ctx context.Context, out []byte) (answer []byte, denied bool, err error)
}

// Options configures an endpoint. Parse, Name, Logger and DefaultBody must be set.
type Options struct {
	// Parse parses a request. The body does not change until the Job has been served. The Job may
	// keep parts of it until then, not longer.
	Parse       func(body []byte) (Job, *RefusalError)
	Name        string
	Logger      *slog.Logger
	Limits      Limits
	DefaultBody int64
	Hooks       Hooks
	// Budget bounds the memory of large bodies. Nil means a new one of the default size.
	Budget *Budget
	// AnswersBodies says that an answer is about as large as its request.
	AnswersBodies bool
}

// Endpoint serves one webhook.
type Endpoint struct {
	o     Options // with defaults
	slots chan struct{}

	lostMu sync.Mutex // held while the hook runs, so that it sees the counts in order
	lost   int

	complaints logguard.Throttle // a broken webhook fails at every request
}

// logInterval is the interval between two problems in the log.
const logInterval = time.Second

// NewEndpoint returns an endpoint. It starts no goroutine.
func NewEndpoint(o Options) *Endpoint {
	o.Limits, o.Logger = o.Limits.withDefaults(o.DefaultBody), o.Logger.With("webhook", o.Name)
	if o.Budget == nil {
		o.Budget = NewBudget(0)
	}
	largest := o.Budget.size
	if o.AnswersBodies {
		largest = largest / 17 * 8 // weight of it is the size of the budget
	}
	o.Limits.Body = min(o.Limits.Body, largest)
	return &Endpoint{o: o, slots: make(chan struct{}, o.Limits.Concurrency), complaints: logguard.Throttle{Interval: logInterval, Burst: 1}}
}

// These are the states of an exchange. The side that moves it on from running decides which side
// releases it.
const (
	running int32 = iota
	finished
	abandoned
)

// exchange is one request that is being served, with its buffers.
type exchange struct {
	e      *Endpoint
	job    Job
	ctx    context.Context
	cancel context.CancelFunc

	in, out []byte
	held    int64 // of the budget
	state   atomic.Int32
	done    chan struct{}

	denied bool
	err    error
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// release returns all resources of x to their pools. x must not be used afterwards.
func (x *exchange) release() {
	x.e.o.Budget.free.Release(x.held)
	if x.job != nil {
		x.cancel()
		<-x.e.slots
	}
	*x = exchange{in: reuse(x.in), out: reuse(x.out)}
	exchanges.Put(x)
}

// begin reads and parses a request, and takes a slot for its handler. unread says that the body was not read to its end.
// bound is the time for the body if the server has none.
func (x *exchange) begin(w http.ResponseWriter, r *http.Request, start time.Time, bound time.Duration) (no *RefusalError, unread bool) {
	if no = x.read(w, r, start, bound); no != nil {
		return no, true
	}
	select {
	case x.e.slots <- struct{}{}:
	default:
		return tooMany(), false
	}
	if x.job, no = x.e.o.Parse(x.in); no != nil {
		<-x.e.slots
	}
	return no, false
}

func tooMany() *RefusalError { return busy("too many handlers are running") }

// reuse returns an empty buffer for the next request: b, unless it is large.
func reuse(b []byte) []byte {
	if cap(b) > maxReuse {
		return nil
	}
	return b[:0]
}

var jsonType = []string{"application/json"}

// ServeHTTP answers one request. Limits.Timeout bounds the wait for the body and for the handler, and the server
// the write of the answer. An abandoned handler keeps its slot of Limits.Concurrency until it ends.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if e.o.Hooks.Started != nil {
		e.o.Hooks.Started(e.o.Name)
	}
	call := Call{Webhook: e.o.Name, Code: http.StatusOK}
	e.serve(w, r, start, &call)
	if e.o.Hooks.Done != nil {
		call.Duration = time.Since(start)
		e.o.Hooks.Done(call)
	}
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request, start time.Time, call *Call) {
	no := check(r, e.o.Limits.Body)
	if no == nil && len(e.slots) == cap(e.slots) {
		no = tooMany()
	}
	if no != nil {
		e.refuse(w, r, no, call, true)
		return
	}
	x := exchanges.Get().(*exchange)
	x.e = e
	bound := e.o.Limits.bound(callerTimeout(r.URL.RawQuery))
	if no, unread := x.begin(w, r, start, bound); no != nil {
		x.release()
		e.refuse(w, r, no, call, unread)
		return
	}
	x.done = make(chan struct{}, 1)
	uid := x.job.UID()
	if bound > 0 {
		x.ctx, x.cancel = context.WithTimeout(r.Context(), bound)
	} else {
		x.ctx, x.cancel = context.WithCancel(r.Context())
	}
	expired := x.ctx.Done() // x may be reused for another request later
	go x.work()
	select {
	case <-x.done:
	case <-expired:
		if e.abandon(x) {
			e.refuse(w, r, late(r, uid, bound), call, false)
			return
		}
		<-x.done
	}
	e.answer(w, r, x, uid, bound, call)
	x.release()
}

// work runs the handler. It has its own goroutine, which ends with the handler.
func (x *exchange) work() {
	e := x.e
	x.err = run.ErrGoexit // the error if the handler ends its goroutine
	defer func() {
		if x.state.CompareAndSwap(running, finished) {
			x.done <- struct{}{}
			return
		}
		if p := (*run.PanicError)(nil); errors.As(x.err, &p) {
			e.complaints.Next(e.o.Logger).Error("panic in a webhook after its timeout", logguard.ErrAttrs(p)...)
		}
		x.release()
		e.returned()
	}()
	x.err = run.Safely(e.o.Name, func() (err error) {
		x.out, x.denied, err = x.job.Serve(x.ctx, x.out)
		return err
	})
}

// abandon gives up a handler whose time is over, unless the handler has just ended. The lock orders
// the count of abandoned handlers before the count of returned ones.
func (e *Endpoint) abandon(x *exchange) bool {
	e.lostMu.Lock()
	defer e.lostMu.Unlock()
	if !x.state.CompareAndSwap(running, abandoned) {
		return false
	}
	e.lost++
	e.complaints.Next(e.o.Logger).Error("webhook exceeded its time and was abandoned: it must return when its context ends", "abandoned", e.lost)
	e.reportLost()
	return true
}

// returned records that an abandoned handler has ended.
func (e *Endpoint) returned() {
	e.lostMu.Lock()
	defer e.lostMu.Unlock()
	e.lost--
	e.reportLost()
}

func (e *Endpoint) reportLost() {
	if e.o.Hooks.Lost != nil {
		e.o.Hooks.Lost(e.o.Name, e.lost)
	}
}

// answer writes the result of the handler.
func (e *Endpoint) answer(w http.ResponseWriter, r *http.Request, x *exchange, uid string, bound time.Duration, call *Call) {
	if x.err == nil {
		call.Denied = x.denied
		write(w, http.StatusOK, x.out)
		return
	}
	var no *RefusalError
	if p := (*run.PanicError)(nil); errors.As(x.err, &p) {
		call.Panic = p
		e.complaints.Next(e.o.Logger).Error("panic in a webhook", logguard.ErrAttrs(p, "uid", uid)...)
		// The panic's value may be confidential, so the caller does not get it.
		no = &RefusalError{Code: http.StatusInternalServerError, Message: "the webhook panicked"}
	} else if x.ctx.Err() != nil {
		no = late(r, uid, bound)
	} else if !errors.As(x.err, &no) {
		no = &RefusalError{Code: http.StatusInternalServerError, Message: "the webhook failed", Err: x.err}
	}
	no.UID = cmp.Or(no.UID, uid)
	e.refuse(w, r, no, call, false)
}

func late(r *http.Request, uid string, bound time.Duration) *RefusalError {
	if r.Context().Err() != nil {
		return &RefusalError{Code: http.StatusServiceUnavailable, UID: uid, Message: "the caller has disconnected"}
	}
	return &RefusalError{Code: http.StatusGatewayTimeout, UID: uid, Message: "the webhook did not answer within " + bound.String()}
}

// refuse writes a refusal. shut closes the connection instead of reading the rest of the body.
func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request, no *RefusalError, call *Call, shut bool) {
	call.Code = no.Code
	h := w.Header()
	switch no.Code {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	case http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	}
	if shut && r.ContentLength != 0 {
		h.Set("Connection", "close")
	}
	e.o.Logger.Debug("webhook request refused", "code", no.Code, "err", no, "uid", no.UID)
	write(w, no.Code, no.append(make([]byte, 0, 256)))
}

// write sends an answer. Write errors are ignored: the caller notices a missing answer itself.
func write(w http.ResponseWriter, code int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// callerTimeout returns the API server's own timeout: the query parameter timeout, a Go duration.
// It returns zero if the parameter is missing or invalid.
func callerTimeout(query string) time.Duration {
	for query != "" {
		var p string
		p, query, _ = strings.Cut(query, "&")
		if v, ok := strings.CutPrefix(p, "timeout="); ok {
			if d, err := time.ParseDuration(v); err == nil && d > 0 {
				return d
			}
			return 0
		}
	}
	return 0
}
