package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/run"
)

// request is one request in a form that can be sent again.
type request struct {
	call        Call
	method      string
	path        []string // unescaped segments below the base URL
	query       url.Values
	accept      string
	contentType string
	body        []byte
	// direct requests are never sent again after a wait: the caller has its own retry policy.
	direct bool
	// stream is set for a watch: its body may be silent.
	stream bool
	// fence is asked before each try of a write; nil: none.
	fence func(Call) error
	// limit delays each try; nil: none.
	limit *limit
}

// link sends requests and turns each failure into a typed error.
type link struct {
	base      *url.URL
	transport http.RoundTripper
	trips     *trips
	writes    *cutter // carries fenced writes
	userAgent string
	silence   time.Duration
	retries   int
	maxWait   time.Duration // see Options.MaxRetryAfter
	reauth    bool          // the credentials are read again after a 401
	hook      func(Done)
	warnings  *warnings
}

// Done is one try of a request, for metrics and traces.
type Done struct {
	Call
	// Try counts from 1.
	Try int
	// Code is the HTTP status code of the answer; 0 without an answer.
	Code int
	// Duration is the time until the header of the answer, or until the failure.
	Duration time.Duration
	// Err is the error of this try; nil after a success.
	Err error
	// Wait is the delay before the next try that the server asks for. Zero: there is no next try,
	// or it is immediate.
	Wait time.Duration
}

// send returns a 2xx answer or a typed error. The caller closes the body.
func (l *link) send(ctx context.Context, r *request) (*http.Response, error) {
	reauth := l.reauth
	for try := 1; ; try++ {
		if err := r.limit.wait(ctx, r.call); err != nil {
			return nil, err
		}
		start := time.Now()
		resp, err := l.once(ctx, r)
		if _, kept := errors.AsType[*FencedError](err); kept {
			return nil, err
		}
		wait := l.pause(ctx, r, try, err)
		if l.hook != nil {
			d := Done{Call: r.call, Try: try, Duration: time.Since(start), Err: err, Wait: wait}
			if resp != nil {
				d.Code = resp.StatusCode
			} else if e, ok := errors.AsType[answered](err); ok {
				d.Code = int(e.answered())
			}
			l.hook(d)
		}
		if err == nil {
			return resp, nil
		}
		if e, ok := errors.AsType[*UnauthorizedError](err); ok && reauth && r.repeatable(e) {
			reauth = false
			continue
		}
		if wait == 0 {
			return nil, err
		}
		if run.Sleep(ctx, wait) != nil {
			return nil, fmt.Errorf("%w; the last answer: %w", ended(ctx, r.call), err)
		}
	}
}

// pause is the delay before the next try: what the server asks for plus up to a tenth. It is 0 if there
// is no next try, also if that would come after the deadline of ctx.
func (l *link) pause(ctx context.Context, r *request, try int, err error) time.Duration {
	f, ok := errors.AsType[failed](err)
	if !ok || r.direct || try > l.retries || !r.repeatable(f) {
		return 0
	}
	wait := askedToWait(f)
	if wait == 0 {
		return 0
	}
	wait += jitter.N(wait/10 + 1)
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return 0
	}
	return wait
}

// repeatable reports whether the request may be sent again after a failure: it is a read, or the API server says
// that it has not processed it. pause repeats only after a 429 or 503 with Retry-After. See ADR 36.
func (r *request) repeatable(err failed) bool {
	return r.method == http.MethodGet || err.request().refused
}

// askedToWait is the delay that a busy server asks for. It is 0 for any other failure.
func askedToWait(err failed) time.Duration {
	switch e := err.(type) {
	case *TooManyRequestsError:
		return e.RetryAfter
	case *UnavailableError:
		if e.status.Code == http.StatusServiceUnavailable {
			return e.RetryAfter
		}
	}
	return 0
}

// errSilent is the cause with which the silence limit cancels a request.
var errSilent = errors.New("the server was silent for too long")

// once sends the request once.
func (l *link) once(ctx context.Context, r *request) (*http.Response, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, r.call)
	}
	gate := newGate(r)
	if err := gate.ask(); err != nil {
		return nil, err
	}
	rctx, cancel := context.WithCancelCause(ctx)
	guard := time.AfterFunc(l.silence, func() { cancel(errSilent) })
	req := l.build(rctx, r, gate)
	resp, err := l.trips.do(rctx, func() (*http.Response, error) {
		if gate == nil {
			return l.transport.RoundTrip(req)
		}
		return l.writes.roundTrip(l.transport, req, cancel)
	})
	guard.Stop()
	if kept := gate.refused(); kept != nil {
		cancel(nil)
		if err == nil {
			resp.Body.Close()
		}
		return nil, kept
	}
	if err != nil {
		defer cancel(nil)
		return nil, connectionError(ctx, rctx, r.call, l.base, err)
	}
	l.warnings.report(r.call, resp.Header)
	resp.Body = &answerBody{ReadCloser: resp.Body, guard: guard, limit: l.silence, cancel: cancel, stream: r.stream,
		fail: func(err error) error { return connectionError(ctx, rctx, r.call, l.base, err) }}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, bounded(answerError(r.call, l.base, resp), l.maxWait)
}

func (l *link) build(ctx context.Context, r *request, gate *gate) *http.Request {
	path := make([]string, len(r.path))
	for i, p := range r.path {
		path[i] = url.PathEscape(p)
	}
	u := l.base.JoinPath(path...)
	u.RawQuery = r.query.Encode()
	req := (&http.Request{
		Method: r.method,
		URL:    u,
		Host:   u.Host,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": {r.accept}, "User-Agent": {l.userAgent}},
	}).WithContext(ctx)
	if r.body != nil {
		req.Header.Set("Content-Type", r.contentType)
		req.ContentLength = int64(len(r.body))
		req.GetBody = func() (io.ReadCloser, error) { return gate.body(r.body), nil }
		req.Body, _ = req.GetBody()
	}
	return req
}

// answerBody applies the silence limit to the reads of a body. Close frees the request's context.
type answerBody struct {
	io.ReadCloser
	guard  *time.Timer
	limit  time.Duration // of silence
	cancel context.CancelCauseFunc
	stream bool
	fail   func(error) error

	spent time.Duration // in reads, since the last look at the rate
	came  int64         // bytes in that time
}

// A body that brings less than trickle bytes in trickleTime of reading counts as silent. A slower reader is no
// slow server: only the time in reads counts.
const (
	trickleTime = time.Minute
	trickle     = 60 * 64
)

func (b *answerBody) Read(p []byte) (int, error) {
	if b.stream {
		n, err := b.ReadCloser.Read(p)
		return n, b.typed(err)
	}
	b.guard.Reset(b.limit)
	start := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.guard.Stop()
	if err == nil && b.trickles(time.Since(start), n) {
		b.cancel(errSilent)
		err = errSilent
	}
	return n, b.typed(err)
}

func (b *answerBody) typed(err error) error {
	if err != nil && err != io.EOF {
		return b.fail(err)
	}
	return err
}

// trickles counts a read, and reports whether too little had come in too much time before it. It decides only
// at a read that waited: otherwise some of what came is still to be read. Bodies without a limit may be as slow
// as they are.
func (b *answerBody) trickles(took time.Duration, n int) (slow bool) {
	if b.limit != math.MaxInt64 && b.spent >= max(trickleTime, b.limit) && took >= time.Millisecond {
		slow = b.came < trickle
		b.spent, b.came = 0, 0
	}
	b.spent += took
	b.came += int64(n)
	return slow
}

func (b *answerBody) Close() error {
	b.guard.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// warnings logs the Warning headers of answers, each text once.
type warnings struct {
	log *slog.Logger

	mu   sync.Mutex
	seen map[string]struct{}
}

const maxWarnings = 1000

func (w *warnings) report(call Call, h http.Header) {
	found, _ := utilnet.ParseWarningHeaders(h.Values("Warning")) // the others are still read
	for _, f := range found {
		if f.Code != 299 { // API servers send no other
			continue
		}
		w.mu.Lock()
		_, old := w.seen[f.Text]
		if !old && len(w.seen) < maxWarnings {
			w.seen[f.Text] = struct{}{}
		}
		full := len(w.seen) >= maxWarnings
		w.mu.Unlock()
		if !old && !full {
			w.log.Warn("the server warns", "warning", f.Text, "call", call.String())
		}
	}
}
