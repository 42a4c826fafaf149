package world

import (
	"bytes"
	"net/http"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// stepWithHooks answers a request that may change something, and calls the webhooks that it needs.
func (w *world) stepWithHooks(r core.Request) core.Answer {
	for {
		a := w.state.Step(time.Now(), r)
		if a.Pending == nil {
			return a
		}
		r.Pending = a.Pending
		w.callHooks(r.Pending)
	}
}

// callHooks makes the calls of webhooks. What a webhook asks the server itself is answered meanwhile.
func (w *world) callHooks(p *core.Pending) {
	var out []rules.Response
	for _, c := range p.Calls {
		w.called++
		switch {
		case w.c.Webhooks == nil:
			out = append(out, rules.Response{Key: c.Key, Err: "dial tcp: connection refused: the scenario has no webhooks"})
			continue
		case w.hooksAway:
			out = append(out, rules.Response{Key: c.Key, Err: "dial tcp: " + errUnreachable.Error()})
			continue
		}
		req, err := http.NewRequest(c.Method, c.URL, bytes.NewReader(c.Body))
		if err != nil {
			out = append(out, rules.Response{Key: c.Key, Err: err.Error()})
			continue
		}
		req.Header.Set("Content-Type", "application/json")
		got := &recorder{header: http.Header{}, code: http.StatusOK}
		done := make(chan struct{})
		go func() { defer close(done); w.c.Webhooks.ServeHTTP(got, req) }()
		w.await(done)
		out = append(out, rules.Response{Key: c.Key, Code: got.code, ContentType: got.header.Get("Content-Type"), Body: got.body.Bytes()})
	}
	p.Add(out)
}

// await answers calls until something is done.
func (w *world) await(done <-chan struct{}) {
	for {
		synctest.Wait()
		select {
		case <-done:
			return
		default:
		}
		if c := w.next(); c != nil {
			w.meet(c)
			continue
		}
		select {
		case <-done:
		case <-w.arrived:
		}
	}
}

// recorder takes the answer of a webhook.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(code int)        { r.code = code }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
