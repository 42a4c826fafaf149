package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/serve"
)

// authority is a client that answers only reviews. Tokens are "good:USER", and may lists what the
// users may do.
type authority struct {
	client.Client
	may   map[string]bool // "USER verb path"
	block chan struct{}   // nil: answers at once

	mu        sync.Mutex
	fails     error
	audiences []string
	tokens    int
	accesses  int
	most, now int
	seen      []authorizationv1.SubjectAccessReviewSpec
}

func (a *authority) Write(ctx context.Context, op client.Op) (object.Object, error) {
	a.mu.Lock()
	a.now++
	a.most = max(a.most, a.now)
	err := a.fails
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now--
	}()
	if a.block != nil {
		select {
		case <-a.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch o := op.Object.(type) {
	case *authenticationv1.TokenReview:
		a.tokens++
		if err != nil {
			return nil, err
		}
		o = o.DeepCopy()
		if user, good := strings.CutPrefix(o.Spec.Token, "good:"); good {
			o.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: a.audiences, User: authenticationv1.UserInfo{
				Username: user, UID: "u1", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}}
		}
		return o, nil
	case *authorizationv1.SubjectAccessReview:
		a.accesses++
		if err != nil {
			return nil, err
		}
		o = o.DeepCopy()
		a.seen = append(a.seen, o.Spec)
		asked := fmt.Sprint(o.Spec.User, " ", o.Spec.NonResourceAttributes.Verb, " ", o.Spec.NonResourceAttributes.Path)
		o.Status.Allowed = a.may[asked]
		o.Status.Denied = a.may["not "+asked]
		return o, nil
	}
	return nil, fmt.Errorf("%T is no review", op.Object)
}

func (a *authority) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = err
}

func (a *authority) asked() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprint(a.tokens, " tokens, ", a.accesses, " accesses")
}

// ask sends a request to a handler without a server.
func ask(h http.Handler, method, path string, credentials ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://a/", nil)
	r.URL.Path = path
	for _, c := range credentials {
		r.Header.Add("Authorization", c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var quiet = slog.New(slog.DiscardHandler)

func TestAuthorizedFollowsTheReviews(t *testing.T) {
	long := "Bearer good:" + strings.Repeat("x", 20_000)
	for _, tt := range []struct {
		name, method, path string
		credentials        []string
		code               int
		challenge          string
		asked              string
	}{
		{"may", "GET", "/metrics", []string{"Bearer good:ann"}, 200, "", "1 tokens, 1 accesses"},
		{"scheme in small letters", "GET", "/metrics", []string{"bearer good:ann"}, 200, "", "1 tokens, 1 accesses"},
		{"may not", "GET", "/metrics", []string{"Bearer good:bob"}, 403, "", "1 tokens, 1 accesses"},
		{"may not with this method", "POST", "/metrics", []string{"Bearer good:ann"}, 403, "", "1 tokens, 1 accesses"},
		{"may not this path", "GET", "/metrics/", []string{"Bearer good:ann"}, 403, "", "1 tokens, 1 accesses"},
		{"both allowed and denied", "GET", "/both", []string{"Bearer good:ann"}, 403, "", "1 tokens, 1 accesses"},
		{"nobody", "GET", "/metrics", nil, 401, "Bearer", "0 tokens, 0 accesses"},
		{"not a good token", "GET", "/metrics", []string{"Bearer bad"}, 401, `Bearer error="invalid_token"`, "1 tokens, 0 accesses"},
		{"empty", "GET", "/metrics", []string{"Bearer "}, 401, `Bearer error="invalid_token"`, "0 tokens, 0 accesses"},
		{"another scheme", "GET", "/metrics", []string{"Basic good:ann"}, 401, `Bearer error="invalid_token"`, "0 tokens, 0 accesses"},
		{"two", "GET", "/metrics", []string{"Bearer good:ann", "Bearer good:ann"}, 401, `Bearer error="invalid_token"`, "0 tokens, 0 accesses"},
		{"too long", "GET", "/metrics", []string{long}, 401, `Bearer error="invalid_token"`, "0 tokens, 0 accesses"},
		{"no letters", "GET", "/metrics", []string{"Bearer good:a\x01b"}, 401, `Bearer error="invalid_token"`, "0 tokens, 0 accesses"},
		{"up the path", "GET", "/debug/../metrics", []string{"Bearer good:ann"}, 400, "", "0 tokens, 0 accesses"},
		{"twice a slash", "GET", "//metrics", []string{"Bearer good:ann"}, 400, "", "0 tokens, 0 accesses"},
		{"no path", "OPTIONS", "*", []string{"Bearer good:ann"}, 400, "", "0 tokens, 0 accesses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &authority{may: map[string]bool{"ann get /metrics": true, "ann get /both": true, "not ann get /both": true}}
			reached := false
			h := serve.Authorized(a, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reached = true
				if len(r.Header["Authorization"]) > 0 {
					t.Error("the handler sees the token")
				}
			}), serve.AuthOptions{Logger: quiet})
			w := ask(h, tt.method, tt.path, tt.credentials...)
			if w.Code != tt.code || w.Header().Get("WWW-Authenticate") != tt.challenge {
				t.Errorf("got %d, %q, want %d, %q", w.Code, w.Header().Get("WWW-Authenticate"), tt.code, tt.challenge)
			}
			if reached != (tt.code == 200) {
				t.Errorf("the handler was reached: %t", reached)
			}
			if got := a.asked(); got != tt.asked {
				t.Errorf("asked for %s, want %s", got, tt.asked)
			}
			for _, s := range a.seen {
				if s.UID != "u1" || len(s.Groups) != 1 || s.Extra["k"][0] != "v" || s.ResourceAttributes != nil {
					t.Errorf("asked about %+v", s)
				}
			}
		})
	}
}

// A failed review denies the request, and the answer does not reveal the reason.
func TestFailedReviewDenies(t *testing.T) {
	var text bytes.Buffer
	a := &authority{may: map[string]bool{"ann get /metrics": true}}
	h := serve.Authorized(a, ok, serve.AuthOptions{Logger: slog.New(slog.NewTextHandler(&text, nil)), AllowFor: -1, DenyFor: -1})
	a.fail(errors.New("tokenreviews is forbidden"))
	for range 20 {
		w := ask(h, "GET", "/metrics", "Bearer good:ann")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "tokenreviews") {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	if n := strings.Count(text.String(), "\n"); n != 1 || !strings.Contains(text.String(), "tokenreviews is forbidden") || strings.Contains(text.String(), "good:ann") {
		t.Errorf("%d lines logged:\n%s", n, text.String())
	}
	a.fail(nil)
	if w := ask(h, "GET", "/metrics", "Bearer good:ann"); w.Code != 200 {
		t.Errorf("once reviews work: %d", w.Code)
	}
}

// A review that panics denies the request, too.
func TestPanickingReviewDenies(t *testing.T) {
	h := serve.Authorized(nil, ok, serve.AuthOptions{Logger: quiet})
	if w := ask(h, "GET", "/metrics", "Bearer x"); w.Code != 503 {
		t.Errorf("got %d", w.Code)
	}
}

func TestTokenNeedsAnAcceptedAudience(t *testing.T) {
	for _, tt := range []struct {
		of   []string
		code int
	}{{nil, 401}, {[]string{"other"}, 401}, {[]string{"other", "metrics"}, 200}} {
		a := &authority{may: map[string]bool{"ann get /": true}, audiences: tt.of}
		h := serve.Authorized(a, ok, serve.AuthOptions{Audiences: []string{"metrics"}, Logger: quiet})
		if w := ask(h, "GET", "/", "Bearer good:ann"); w.Code != tt.code {
			t.Errorf("a token for %v: %d, want %d", tt.of, w.Code, tt.code)
		}
	}
}

func TestAnswersAreCachedForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{may: map[string]bool{"ann get /metrics": true}}
		h := serve.Authorized(a, ok, serve.AuthOptions{Logger: quiet})
		get := func(token string, code int, want string) {
			t.Helper()
			if w := ask(h, "GET", "/metrics", "Bearer "+token); w.Code != code {
				t.Errorf("got %d, want %d", w.Code, code)
			}
			if got := a.asked(); got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		}
		get("good:ann", 200, "1 tokens, 1 accesses")
		time.Sleep(59 * time.Second)
		get("good:ann", 200, "1 tokens, 1 accesses")
		a.mu.Lock()
		a.may = nil
		a.mu.Unlock()
		time.Sleep(2 * time.Second)
		get("good:ann", 403, "2 tokens, 2 accesses")
		time.Sleep(9 * time.Second)
		get("good:ann", 403, "2 tokens, 2 accesses")
		time.Sleep(2 * time.Second)
		get("good:ann", 403, "2 tokens, 3 accesses")
		get("bad", 401, "3 tokens, 3 accesses")
		time.Sleep(9 * time.Second)
		get("bad", 401, "3 tokens, 3 accesses")
		time.Sleep(2 * time.Second)
		get("bad", 401, "4 tokens, 3 accesses")
	})
}

// Any number of bad tokens does not evict the answer for a good one.
func TestBadTokensDoNotEvictGoodOnes(t *testing.T) {
	a := &authority{may: map[string]bool{"ann get /metrics": true}}
	h := serve.Authorized(a, ok, serve.AuthOptions{Logger: quiet, MaxAnswers: 10})
	ask(h, "GET", "/metrics", "Bearer good:ann")
	for i := range 1000 {
		if w := ask(h, "GET", "/metrics", fmt.Sprint("Bearer bad", i)); w.Code != 401 {
			t.Fatal(w.Code)
		}
	}
	if w := ask(h, "GET", "/metrics", "Bearer good:ann"); w.Code != 200 {
		t.Error(w.Code)
	}
	if got := a.asked(); got != "1001 tokens, 1 accesses" {
		t.Errorf("asked for %s", got)
	}
}

// Concurrent requests with one token share a review. The number of concurrent reviews is bounded.
func TestConcurrentRequestsShareAReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{may: map[string]bool{"ann get /metrics": true}, block: make(chan struct{})}
		h := serve.Authorized(a, ok, serve.AuthOptions{Logger: quiet, MaxReviews: 3})
		var all sync.WaitGroup
		codes := make(chan int, 200)
		for i := range 100 {
			all.Go(func() { codes <- ask(h, "GET", "/metrics", "Bearer good:ann").Code })
			all.Go(func() { codes <- ask(h, "GET", "/metrics", fmt.Sprint("Bearer bad", i)).Code })
		}
		synctest.Wait()
		if a.most != 3 {
			t.Errorf("%d reviews at once, want 3", a.most)
		}
		close(a.block)
		all.Wait()
		count := map[int]int{}
		for range 200 {
			count[<-codes]++
		}
		if count[200] != 100 || count[401] != 100 || a.asked() != "101 tokens, 1 accesses" {
			t.Errorf("codes %v, asked for %s", count, a.asked())
		}
	})
}

// A caller that leaves does not break the review that others wait for. A review that hangs ends.
func TestReviewSurvivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{may: map[string]bool{"ann get /metrics": true}, block: make(chan struct{})}
		h := serve.Authorized(a, ok, serve.AuthOptions{Logger: quiet})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			r := httptest.NewRequest("GET", "/metrics", nil).WithContext(ctx)
			r.Header.Set("Authorization", "Bearer good:ann")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		synctest.Wait()
		code := make(chan int)
		go func() { code <- ask(h, "GET", "/metrics", "Bearer good:ann").Code }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(a.block)
		if got := <-code; got != 200 || a.asked() != "1 tokens, 1 accesses" {
			t.Errorf("got %d, asked for %s", got, a.asked())
		}

		a.block = make(chan struct{})
		began := time.Now()
		if w := ask(h, "GET", "/metrics", "Bearer bad"); w.Code != 503 || time.Since(began) != 10*time.Second {
			t.Errorf("a review that hangs: %d after %s", w.Code, time.Since(began))
		}
	})
}
