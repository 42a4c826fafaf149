package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flyball-io/flyball/internal/wire"
)

// slowBody brings size bytes every period until it ends. Space pads the JSON.
type slowBody struct {
	text   string
	size   int
	period time.Duration
	r      *http.Request
	ready  int // bytes that have come and were not read
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.ready == 0 {
		select {
		case <-b.r.Context().Done():
			return 0, b.r.Context().Err()
		case <-time.After(b.period):
		}
		b.ready = min(b.size, len(b.text))
	}
	if b.text == "" {
		return 0, io.EOF
	}
	n := copy(p, b.text[:b.ready])
	b.text, b.ready = b.text[n:], b.ready-n
	return n, nil
}

func (b *slowBody) Close() error { return nil }

// A body that trickles ends as a silent one does, whatever it is: of an object, a page, a list of a feed, an
// error, or a document of discovery. One that is slow but comes is read to its end.
func TestTrickleIsSilence(t *testing.T) {
	padding := strings.Repeat(" ", 100_000)
	list := `{"kind":"PodList","apiVersion":"v1","items":[` + padding + `]}`
	object := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"web","uid":"uid-1"}` + padding + `}`
	calls := map[string]struct {
		code int
		body string
		do   func(t *testing.T, c *Live) error
	}{
		"get":   {200, object, func(t *testing.T, c *Live) error { _, err := Get[corev1.Pod](t.Context(), c, key("x")); return err }},
		"list":  {200, list, func(t *testing.T, c *Live) error { _, err := ListPage[corev1.Pod](t.Context(), c); return err }},
		"write": {200, object, func(t *testing.T, c *Live) error { _, err := Update(t.Context(), c, pod("x")); return err }},
		"feed": {200, list, func(t *testing.T, c *Live) error {
			l, err := c.Feed(podGVK, Selection{}).List(t.Context(), wire.ListQuery{})
			for err == nil {
				_, err = l.Next()
			}
			if err == io.EOF {
				return nil
			}
			return err
		}},
		"page of an error": {500, padding, func(t *testing.T, c *Live) error { _, err := Get[corev1.Pod](t.Context(), c, key("x")); return err }},
	}
	for name, call := range calls {
		for _, rate := range []struct {
			size   int
			period time.Duration
			silent bool
		}{{1, time.Second, true}, {63, time.Second, true}, {1000, 30 * time.Second, true}, {66, time.Second, false}, {2500, 30 * time.Second, false}} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mapper := meta.NewDefaultRESTMapper(nil)
					mapper.Add(podGVK, meta.RESTScopeNamespace)
					c := newFake(t).over(roundTripper(func(r *http.Request) (*http.Response, error) {
						rec := httptest.NewRecorder()
						rec.Header().Set("Content-Type", wire.ContentTypeJSON)
						rec.WriteHeader(call.code)
						resp := rec.Result()
						resp.Body = &slowBody{call.body, rate.size, rate.period, r, 0}
						return resp, nil
					}), Options{Mapper: mapper, Scheme: testScheme})
					start := time.Now()
					err := call.do(t, c)
					_, silent := errors.AsType[*TimeoutError](err)
					took := time.Since(start)
					switch {
					case rate.silent && took > 2*time.Minute:
						t.Errorf("%d bytes every %v: took %v", rate.size, rate.period, took)
					case rate.silent && call.code < 300 && !silent, !rate.silent && call.code < 300 && err != nil:
						t.Errorf("%d bytes every %v: got %v after %v", rate.size, rate.period, err, took)
					case call.code >= 300 && !is[*InternalError](err):
						t.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

// A reader that is slow is no server that is slow.
func TestSlowReaderIsNoTrickle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &answerBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", 1000))), guard: time.AfterFunc(time.Hour, func() {}), limit: time.Second, cancel: func(error) {}}
		for range 1000 {
			time.Sleep(time.Second)
			if _, err := b.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
