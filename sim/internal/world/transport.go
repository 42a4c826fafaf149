package world

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/web"
	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/sim/internal/plan"
)

// incarnation is one run of a program. It is the transport of the program's clients.
type incarnation struct {
	process *process
	ctx     context.Context
	cancel  context.CancelCauseFunc
	n       int
	streams []*stream
	// uids has the uids that the program was shown, by key of the object.
	uids map[string]map[string]bool
	// claimed has the keys of the Leases that it has held.
	claimed map[string]bool
	// silent says until when the watches of a path are silent.
	silent map[string]time.Time

	mu     sync.Mutex
	dead   bool
	caches []ctxkey.Cached
}

var errDead = errors.New("simulation: the process has crashed")

// die ends the run: parked calls and streams end, later calls fail.
func (i *incarnation) die() {
	i.mu.Lock()
	i.dead = true
	i.mu.Unlock()
	i.cancel(context.Canceled)
	for _, s := range i.streams {
		s.end(errDead)
	}
	i.streams = nil
	w := i.process.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = slices.DeleteFunc(w.parked, func(c *call) bool { return c.from == i && c.fail(errDead) })
	if w.first != nil && w.first.from == i {
		w.first.fail(errDead)
		w.first = nil
	}
}

// call is a request of a program that waits for its turn.
type call struct {
	from  *incarnation
	http  *http.Request // nil: a part of the program waits for its turn
	req   core.Request
	queue bool   // it is a queue
	text  string // orders calls that arrive at once
	where string // the line of the program
	begun time.Time
	at    plan.Point
	reply chan reply
}

type reply struct {
	resp *http.Response
	err  error
	last bool // of a turn: see [ctxkey.Turner]
}

// turn makes a part of the program wait until nothing else can run.
func (i *incarnation) turn(ctx context.Context, who string) (last bool) {
	c := &call{from: i, queue: who == "", text: i.process.program.Name + " turn of " + who, reply: make(chan reply, 1)}
	i.mu.Lock()
	dead := i.dead
	if !dead {
		i.process.w.park(c)
	}
	i.mu.Unlock()
	if dead {
		return false
	}
	select {
	case r := <-c.reply:
		return r.last
	case <-ctx.Done():
		i.process.w.leave(c)
		return false
	}
}

// fail ends a call with an error.
func (c *call) fail(err error) bool {
	c.reply <- reply{err: err}
	return true
}

// random is the part of requests that clients draw.
var random = regexp.MustCompile(`timeoutSeconds=\d+`)

// RoundTrip waits until the world answers the request.
func (i *incarnation) RoundTrip(r *http.Request) (*http.Response, error) {
	c, err := newCall(i, r)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	dead := i.dead
	discovers := c.req.Target().Resource == ""
	if !dead && !discovers {
		i.process.w.park(c)
	}
	i.mu.Unlock()
	switch {
	case dead:
		return nil, errDead
	case discovers:
		return c.response(i.process.w.discover(c.req)), nil
	}
	select {
	case got := <-c.reply:
		return got.resp, got.err
	case <-r.Context().Done():
		i.process.w.leave(c)
		return nil, context.Cause(r.Context())
	}
}

// discover answers a question about what the server serves, at once: clients ask it while they hold locks that others
// wait for. In a bubble that is no rest, so nobody could give it its turn. It changes nothing.
func (w *world) discover(r core.Request) core.Answer {
	w.asking.Lock()
	defer w.asking.Unlock()
	return w.state.Now().Read(time.Now(), r)
}

// CloseIdleConnections does nothing: there are no connections.
func (*incarnation) CloseIdleConnections() {}

func newCall(i *incarnation, r *http.Request) (*call, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if at := r.URL.Scheme + "://" + r.URL.Host; at != Host {
		return nil, fmt.Errorf("simulation: %s %s: nothing but the API server can be reached here", r.Method, r.URL)
	}
	c := &call{from: i, http: r, where: caller(), begun: time.Now(), reply: make(chan reply, 1)}
	c.req = core.Request{Method: r.Method, URL: random.ReplaceAllString(r.URL.RequestURI(), "timeoutSeconds=600"), ContentType: r.Header.Get("Content-Type"),
		Accept: accepted(r.Header.Get("Accept")), UserAgent: r.UserAgent(), User: core.Administrator.Name, Groups: core.Administrator.Groups, Body: body}
	if heartbeat(resourceOf(c.req.Target())) {
		body = anyUID.ReplaceAll(body, nil) // an identity is drawn
	}
	c.text = strings.Join([]string{i.process.program.Name, r.Method, c.req.URL, c.req.Accept, c.req.UserAgent, string(body)}, " ")
	return c, nil
}

// accepted returns what an answer has: JSON wherever the client takes it, since that is what the state has.
func accepted(accept string) string {
	if strings.Contains(accept, "as=") || !strings.Contains(accept, "json") && accept != "" && accept != "*/*" {
		return accept
	}
	return "application/json"
}

// park adds a call to those that wait for their turn.
func (w *world) park(c *call) {
	w.mu.Lock()
	w.parked = append(w.parked, c)
	w.mu.Unlock()
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// leave takes a call back whose client has gone.
func (w *world) leave(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = slices.DeleteFunc(w.parked, func(x *call) bool { return x == c })
}

// next takes the first of the parked calls, in the order of their texts; nil if there is none.
func (w *world) next() *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.parked) == 0 {
		return nil
	}
	at := 0
	for i, c := range w.parked {
		if cmp.Compare(c.text, w.parked[at].text) < 0 {
			at = i
		}
	}
	c := w.parked[at]
	w.parked = slices.Delete(w.parked, at, at+1)
	return c
}

// response returns the HTTP response of an answer without a watch.
func (c *call) response(a core.Answer) *http.Response {
	resp := &http.Response{StatusCode: a.Code, Status: fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: c.http, ContentLength: -1}
	web.Head(resp.Header, a)
	resp.Body = io.NopCloser(bytes.NewReader(a.Body))
	return resp
}
