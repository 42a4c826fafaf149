package apiserver_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/apiserver"
)

// A client that goes while a webhook is asked leaves nothing behind, although the webhook may fail.
func TestAClientGoesDuringAWebhook(t *testing.T) {
	s := memorySession(t, apiserver.Options{})
	h := newHooks(s)
	ctx, leave := context.WithCancel(t.Context())
	h.on("/v", func(v review) string {
		leave()
		<-v.gone // the server knows
		return allow()(v)
	})
	h.configure("Validating", "one", h.hook("/v", `"failurePolicy":"Ignore","timeoutSeconds":30`))
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+s.path("~/configmaps"), strings.NewReader(configMapOf("a")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", jsonType)
	if resp, err := s.client.Do(req); !errors.Is(err, context.Canceled) {
		t.Fatal(resp, err)
	}
	h.on("/v", allow())
	s.must(201, "POST", "~/configmaps", configMapOf("b")) // the first request has ended, since Close waits for it
	s.must(404, "GET", "~/configmaps/a", "")
}

// A late request takes effect although its client has gone, and webhooks admit it.
func TestALateRequestIsAdmitted(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	authority()
	synctest.Test(t, func(t *testing.T) {
		p := newPiped()
		server := apiserver.Start(t, apiserver.Options{InMemory: true, DialWebhook: p.dial})
		s := sessionOf(t, server)
		h := &hookServer{s: s, url: "https://localhost", answer: map[string]func(review) string{"/probe": deny(`{"message":"ready"}`)}}
		defer p.serve(h)()
		h.on("/v", allow())
		h.configure("Validating", "one", h.hook("/v", ""))
		watch, err := s.client.Get(s.url + s.path("~/configmaps?watch=1"))
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Body.Close()
		late := server.Fail(apiserver.On("create", "configmaps"), apiserver.Late(10*time.Millisecond))
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_ = late.Wait(ctx, 1) // else the request fails by the end of the test
			leave()
		}()
		req, err := http.NewRequestWithContext(ctx, "POST", s.url+s.path("~/configmaps"), strings.NewReader(configMapOf("a")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", jsonType)
		if resp, err := s.client.Do(req); !errors.Is(err, context.Canceled) {
			t.Fatal(resp, err)
		}
		if got := next(t, bufio.NewReader(watch.Body)); got != "a" {
			t.Errorf("got %s, want a", got)
		}
	})
}

// openWatch opens a watch of ConfigMaps in memory.
func openWatch(t *testing.T, s *apiserver.Server, query string) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+mapsPath+"?watch=1&"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.RESTConfig().Transport.RoundTrip(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return bufio.NewReader(resp.Body)
}

// In a bubble, where an hour costs nothing.
func inABubble(t *testing.T, test func(t *testing.T, s *apiserver.Server)) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) { test(t, apiserver.Start(t, apiserver.Options{InMemory: true})) })
}

func put(t *testing.T, s *apiserver.Server, name string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+mapsPath, strings.NewReader(`{"metadata":{"name":"`+name+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", jsonType)
	resp, err := s.RESTConfig().Transport.RoundTrip(req)
	if err != nil || resp.StatusCode != 201 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
}

// next returns the name of the object of the next event.
func next(t *testing.T, w *bufio.Reader) string {
	t.Helper()
	line, err := w.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(line, `"name":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// A fault that has ended has no more effect on watches that were opened before.
func TestAFaultEndsForOpenWatches(t *testing.T) {
	for _, effect := range []apiserver.Effect{
		apiserver.DropEvents(2, 0), apiserver.DelayEvents(time.Minute), apiserver.RepeatEvents(2, 0), apiserver.CutAfter(2), apiserver.EndAfter(2), apiserver.ExpireAfter(2),
		apiserver.CutFrame(2), apiserver.SwapEvents(2), apiserver.InsertFrame(2, "{}"), apiserver.SilentAfter(2), apiserver.LoseBookmarks,
	} {
		t.Run(effect.String(), func(t *testing.T) {
			inABubble(t, func(t *testing.T, s *apiserver.Server) {
				fault := s.Fail(apiserver.On("watch", "configmaps"), effect)
				w := openWatch(t, s, "")
				put(t, s, "a")
				if got := next(t, w); got != "a" {
					t.Errorf("got %s, want a", got)
				}
				fault.End()
				began := time.Now()
				for _, name := range []string{"b", "c", "d"} {
					put(t, s, name)
					if got := next(t, w); got != name {
						t.Errorf("got %s, want %s", got, name)
					}
				}
				if d := time.Since(began); d != 0 {
					t.Errorf("three events took %v", d)
				}
			})
		})
	}
}

// A restored state ends watches that a fault keeps silent or delays, and they say nothing of the state before.
func TestRestoreEndsWatchesWithFaults(t *testing.T) {
	for _, effect := range []apiserver.Effect{apiserver.SilentAfter(1), apiserver.DelayEvents(time.Hour)} {
		t.Run(effect.String(), func(t *testing.T) {
			inABubble(t, func(t *testing.T, s *apiserver.Server) {
				before := s.Snapshot()
				put(t, s, "a")
				put(t, s, "b")
				s.Fail(apiserver.On("watch", "configmaps"), effect)
				began := time.Now()
				w := openWatch(t, s, "")
				if got := next(t, w); got != "a" {
					t.Errorf("got %s, want a", got)
				}
				s.Restore(before)
				if text, err := io.ReadAll(w); err != nil || len(text) > 0 {
					t.Errorf("got %s, %v, want the end", text, err)
				}
				if d := time.Since(began); d > time.Hour+time.Second {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// A watch ends after its time although its events are slow.
func TestASlowWatchEnds(t *testing.T) {
	inABubble(t, func(t *testing.T, s *apiserver.Server) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			put(t, s, name)
		}
		s.Fail(apiserver.On("watch", "configmaps"), apiserver.DelayEvents(time.Minute))
		began := time.Now()
		w := openWatch(t, s, "timeoutSeconds=150")
		var got []string
		for {
			name := next(t, w)
			if got = append(got, name); name == "EOF" {
				break
			}
		}
		if text := strings.Join(got, " "); text != "a b c EOF" || time.Since(began) > 181*time.Second {
			t.Errorf("got %s after %v", text, time.Since(began))
		}
	})
}
