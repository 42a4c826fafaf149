package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
)

// A request within the process ends as one over a connection: with its context, or by a restart, while its answer waits.
func TestWaitingAnswersAreCut(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	gone := errors.New("the client has gone")
	for what, c := range map[string]struct {
		cut  func(s *apiserver.Server, leave context.CancelCauseFunc)
		want error
	}{
		"a restart": {func(s *apiserver.Server, _ context.CancelCauseFunc) { s.Restart() }, io.EOF},
		"its end":   {func(_ *apiserver.Server, leave context.CancelCauseFunc) { leave(gone) }, gone},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := apiserver.Start(t, apiserver.Options{InMemory: true, Latency: time.Hour})
				ctx, leave := context.WithCancelCause(t.Context())
				failed := make(chan error)
				go func() {
					_, err := through(t, s, ctx, http.MethodPost, mapsPath, `{"metadata":{"name":"a"}}`)
					failed <- err
				}()
				synctest.Wait() // the answer waits
				c.cut(s, leave)
				if err := <-failed; !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
}

// A restart during a webhook cuts the request, which has no effect.
func TestARestartDuringAWebhook(t *testing.T) {
	server := apiserver.Start(t, apiserver.Options{InMemory: true})
	s := sessionOf(t, server)
	h := newHooks(s)
	h.on("/v", func(v review) string {
		server.Restart()
		<-v.gone // the server knows
		return allow()(v)
	})
	h.configure("Validating", "one", h.hook("/v", `"failurePolicy":"Ignore","timeoutSeconds":30`))
	if text, err := through(t, server, t.Context(), http.MethodPost, s.path("~/configmaps"), configMapOf("a")); !errors.Is(err, io.EOF) {
		t.Error(text, err)
	}
	s.must(404, "GET", "~/configmaps/a", "")
}

// A request whose body does not end is cut, too: with its context, or when the server is closed.
func TestBodiesThatDoNotEnd(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	gone := errors.New("the client has gone")
	for what, c := range map[string]struct {
		cut  func(s *apiserver.Server, leave context.CancelCauseFunc) error
		want error
	}{
		"a close": {func(s *apiserver.Server, _ context.CancelCauseFunc) error { return s.Close() }, io.EOF},
		"its end": {func(_ *apiserver.Server, leave context.CancelCauseFunc) error { leave(gone); return nil }, gone},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := apiserver.New(t.Context(), apiserver.Options{InMemory: true})
				if err != nil {
					t.Fatal(err)
				}
				rt, err := rest.TransportFor(s.RESTConfig())
				if err != nil {
					t.Fatal(err)
				}
				ctx, leave := context.WithCancelCause(t.Context())
				body, writer := io.Pipe()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+mapsPath, body)
				if err != nil {
					t.Fatal(err)
				}
				failed := make(chan error, 1)
				go func() {
					_, err := rt.RoundTrip(req)
					failed <- err
				}()
				if _, err := io.WriteString(writer, `{"metadata":`); err != nil {
					t.Fatal(err)
				}
				if err := c.cut(s, leave); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				select {
				case err := <-failed:
					if !errors.Is(err, c.want) {
						t.Errorf("%v, want %v", err, c.want)
					}
				default:
					t.Error("the request has not ended")
				}
				if _, err := io.WriteString(writer, `{}}`); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("somebody still reads the body: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A request whose context has ended is not made.
func TestAClientThatHasGoneChangesNothing(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{InMemory: true})
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := through(t, s, ctx, http.MethodPost, mapsPath, `{"metadata":{"name":"a"}}`); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if text, err := through(t, s, t.Context(), http.MethodGet, mapsPath+"/a", ""); err != nil || !strings.Contains(text, "NotFound") {
		t.Error(text, err)
	}
}

// What a rule does with the bytes of an answer stays in that answer.
func TestRewriteChangesOneAnswer(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{InMemory: true})
	const accept = "application/vnd.kubernetes.protobuf"
	if _, err := throughFor(t, s, t.Context(), http.MethodPost, mapsPath, `{"metadata":{"name":"abc"}}`, accept); err != nil {
		t.Fatal(err)
	}
	rule := s.Fail(apiserver.On("get", "configmaps"), apiserver.Rewrite(func(text []byte) []byte {
		copy(text[bytes.Index(text, []byte("abc")):], "xyz")
		return text
	}))
	for _, want := range []string{"xyz", "abc"} {
		if text, err := throughFor(t, s, t.Context(), http.MethodGet, mapsPath+"/abc", "", accept); err != nil || !strings.Contains(text, want) {
			t.Errorf("%q %v, want %s", text, err, want)
		}
		rule.End()
	}
}

func through(t *testing.T, s *apiserver.Server, ctx context.Context, method, path, body string) (string, error) {
	return throughFor(t, s, ctx, method, path, body, "application/json")
}

// throughFor sends JSON by the transport of a server, and returns the body of the answer in the form that accept names.
func throughFor(t *testing.T, s *apiserver.Server, ctx context.Context, method, path, body, accept string) (string, error) {
	t.Helper()
	rt, err := rest.TransportFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// A body that cannot be read gets no answer, least of all one that says that all is well.
func TestBodiesThatAreCutGetNoAnswer(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	for what, body := range map[string]string{
		"no chunk":     "Transfer-Encoding: chunked\r\n\r\nno chunk\r\n",
		"half a chunk": "Transfer-Encoding: chunked\r\n\r\n20\r\n{\r\n0\r\n\r\n",
		"too short":    "Content-Length: 100\r\n\r\n{}",
	} {
		t.Run(what, func(t *testing.T) {
			host := strings.TrimPrefix(s.URL(), "http://")
			c, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s", mapsPath, host, body); err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(c) // a reset is no answer either
			if len(got) > 0 {
				t.Errorf("answered %q", got)
			}
		})
	}
}
