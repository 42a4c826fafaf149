package review

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	// Budget bounds the memory of the bodies. Nil means a new one of Limits.Buffered.
	Budget *Budget
	// AnswersBodies says that an answer is about as large as its request.
	AnswersBodies bool
}

// Endpoint serves one webhook.
type Endpoint struct {
	name   string
	logger *slog.Logger
	limits Limits
	hooks  Hooks
	parse  func([]byte) (Job, *RefusalError)

	slots   chan struct{}
	budget  *Budget
	answers bool

	lostMu sync.Mutex // held while the hook runs, so that it sees the counts in order
	lost   int

	complaints complaints
}

// NewEndpoint returns an endpoint. It starts no goroutine.
func NewEndpoint(o Options) *Endpoint {
	l := o.Limits.withDefaults(o.DefaultBody)
	if o.Budget == nil || l.Buffered != 0 {
		o.Budget = NewBudget(l.Buffered)
	}
	return &Endpoint{name: o.Name, logger: o.Logger.With("webhook", o.Name), limits: l, hooks: o.Hooks, parse: o.Parse,
		slots: make(chan struct{}, l.Concurrency), budget: o.Budget, answers: o.AnswersBodies}
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
	held    reservation // memory of in and out
	state   atomic.Int32
	done    chan struct{}

	denied bool
	err    error
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// release returns all resources of x to their pools. x must not be used afterwards.
func (x *exchange) release() {
	x.e.budget.release(&x.held)
	if x.job != nil {
		x.cancel()
		<-x.e.slots
	}
	x.reset()
	exchanges.Put(x)
}

// reserveAnswer reserves memory for an answer as large as the body, so that the handler does not
// grow it piecemeal.
func (x *exchange) reserveAnswer(ctx context.Context) *RefusalError {
	if size := len(x.in) + len(x.in)/8; x.e.answers && size > maxReuse && size > cap(x.out) {
		if err := x.e.budget.take(ctx, &x.held, int64(size)); err != nil {
			return refusal(err)
		}
		x.out = make([]byte, 0, size)
	}
	return nil
}

func (x *exchange) reset() {
	x.e, x.job, x.ctx, x.cancel, x.done, x.denied, x.err = nil, nil, nil, nil, nil, false, nil
	x.held = reservation{}
	x.in, x.out = x.in[:0], x.out[:0]
	if cap(x.in) > maxReuse {
		x.in = nil
	}
	if cap(x.out) > maxReuse {
		x.out = nil
	}
	x.state.Store(running)
}

var (
	jsonType  = []string{"application/json"}
	closeConn = []string{"close"}
	allowPost = []string{http.MethodPost}
	retrySoon = []string{retryAfter}
)

// ServeHTTP answers one request. It returns when the answer has been written, at the latest when
// its time is over. An abandoned handler keeps its slot of Limits.Concurrency until it ends.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if e.hooks.Started != nil {
		e.hooks.Started(e.name)
	}
	call := Call{Webhook: e.name, Code: http.StatusOK}
	e.serve(w, r, start, &call)
	if e.hooks.Done != nil {
		call.Duration = time.Since(start)
		e.hooks.Done(call)
	}
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request, start time.Time, call *Call) {
	if no := check(r, e.limits.Body); no != nil {
		e.refuse(w, r, no, call, true)
		return
	}
	if len(e.slots) == cap(e.slots) {
		e.refuse(w, r, busy("too many handlers are running"), call, true)
		return
	}
	x := exchanges.Get().(*exchange)
	x.e = e
	var no *RefusalError
	e.budget.begin(&x.held, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now()) }, start)
	if x.in, no = read(r, x.in, e.limits.Body, e.budget, &x.held); no == nil {
		no = x.reserveAnswer(r.Context())
	}
	if no != nil {
		x.release()
		e.refuse(w, r, no, call, true)
		return
	}
	select {
	case e.slots <- struct{}{}:
	default:
		x.release()
		e.refuse(w, r, busy("too many handlers are running"), call, false)
		return
	}
	job, no := e.parse(x.in)
	if no != nil {
		<-e.slots
		x.release()
		e.refuse(w, r, no, call, false)
		return
	}
	x.job, x.done = job, make(chan struct{}, 1)
	uid := job.UID()
	bound := e.limits.bound(callerTimeout(r.URL.RawQuery))
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
			e.complaints.log(e.logger, "panic in a webhook after its timeout", "error", p, "stack", string(p.Stack))
		}
		x.release()
		e.returned()
	}()
	x.err = run.Safely(e.name, func() (err error) {
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
	e.complaints.log(e.logger, "webhook exceeded its time and was abandoned: it must return when its context ends", "running", e.lost)
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
	if e.hooks.Lost != nil {
		e.hooks.Lost(e.name, e.lost)
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
		e.complaints.log(e.logger, "panic in a webhook", "error", p, "stack", string(p.Stack), "uid", uid)
		// The panic's value may be confidential, so the caller does not get it.
		no = &RefusalError{Code: http.StatusInternalServerError, Message: "the webhook panicked"}
	} else if x.ctx.Err() != nil {
		no = late(r, uid, bound)
	} else if !errors.As(x.err, &no) {
		no = &RefusalError{Code: http.StatusInternalServerError, Message: "the webhook failed", Err: x.err}
	}
	if no.UID == "" {
		no.UID = uid
	}
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
		h["Allow"] = allowPost
	case http.StatusTooManyRequests:
		h["Retry-After"] = retrySoon
	}
	if shut && r.ContentLength != 0 {
		h["Connection"] = closeConn
	}
	e.logger.Debug("webhook request refused", "code", no.Code, "error", no, "uid", no.UID)
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
