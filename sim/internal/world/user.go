package world

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// User makes the requests of a step. They are answered at once.
type User struct{ w *world }

// Config returns the configuration of a client that is the user. Watches are refused.
func (u *User) Config() *rest.Config { return &rest.Config{Host: Host, Transport: u, QPS: -1} }

// View returns the present state.
func (u *User) View() core.View { return u.w.state.Now() }

// CloseIdleConnections does nothing: there are no connections.
func (*User) CloseIdleConnections() {}

// RoundTrip implements [http.RoundTripper].
func (u *User) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if watches(r.URL.RawQuery) {
		return nil, fmt.Errorf("simulation: a step cannot watch: what happens is over when it returns")
	}
	c := &call{http: r, req: core.Request{Method: r.Method, URL: r.URL.RequestURI(), ContentType: r.Header.Get("Content-Type"), Accept: accepted(r.Header.Get("Accept")),
		UserAgent: "user", User: core.Administrator.Name, Groups: core.Administrator.Groups, Body: body}}
	return c.response(u.do(c.req)), nil
}

// Do makes one request.
func (u *User) Do(method, url, contentType string, body []byte) core.Answer {
	return u.do(core.Request{Method: method, URL: url, ContentType: contentType, Accept: "application/json", UserAgent: "user",
		User: core.Administrator.Name, Groups: core.Administrator.Groups, Body: body})
}

func (u *User) do(r core.Request) core.Answer {
	w := u.w
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return w.state.Now().Read(time.Now(), r)
	}
	before := w.state.Now()
	a := w.stepWithHooks(r)
	w.changes(nil, before)
	t := r.Target()
	if resourceOf(t) == leases {
		w.elects(nil, keyOf(t))
	}
	w.log(laneUser, "%s %s → %d", verbOf(r, t, false), object(r, t), a.Code)
	w.told = append(w.told, a.Code)
	return a
}

// Reader returns the configuration of a client that reads a view.
func Reader(v core.View) *rest.Config {
	return &rest.Config{Host: Host, Transport: reader{v}, QPS: -1}
}

// reader answers reads from a view.
type reader struct{ view core.View }

// CloseIdleConnections does nothing: there are no connections.
func (reader) CloseIdleConnections() {}

// RoundTrip implements [http.RoundTripper].
func (v reader) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || watches(r.URL.RawQuery) {
		return nil, fmt.Errorf("simulation: %s %s: an invariant may only get and list", r.Method, r.URL.Path)
	}
	c := &call{http: r, req: core.Request{Method: r.Method, URL: r.URL.RequestURI(), Accept: accepted(r.Header.Get("Accept")),
		UserAgent: "user", User: core.Administrator.Name, Groups: core.Administrator.Groups}}
	return c.response(v.view.Read(time.Now(), c.req)), nil
}
