package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
)

const mapsPath = "/api/v1/namespaces/default/configmaps"

// broken is a server, and a client without retries, with connections of its own.
type broken struct {
	*testing.T
	s    *apiserver.Server
	http *http.Client
}

func newBroken(t *testing.T) broken {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return broken{t, apiserver.Start(t, apiserver.Options{}), &http.Client{Transport: transport}}
}

// do returns the code and body of an answer. After a cut it returns an error, and the bytes before it.
func (b broken) do(method, path, body string) (int, string, error) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.s.URL()+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// make creates a ConfigMap for each name.
func (b broken) make(names ...string) {
	b.Helper()
	for _, name := range names {
		if code, text, err := b.do("POST", mapsPath, `{"metadata":{"name":"`+name+`"}}`); code != 201 {
			b.Fatal(code, text, err)
		}
	}
}

func (b broken) watch(query string) *bufio.Reader {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), "GET", b.s.URL()+mapsPath+"?watch=1&"+query, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := b.http.Do(req)
	if err != nil || resp.StatusCode != 200 {
		b.Fatal(resp, err)
	}
	b.Cleanup(func() { resp.Body.Close() })
	return bufio.NewReader(resp.Body)
}

// Each error has the code, the reason and the words by which clients recognize it.
func TestFailAnswers(t *testing.T) {
	b := newBroken(t)
	b.make("a")
	for _, tc := range []struct {
		effect apiserver.Effect
		is     func(error) bool
	}{
		{apiserver.Conflict, apierrors.IsConflict}, {apiserver.Error(metav1.StatusReasonAlreadyExists), apierrors.IsAlreadyExists},
		{apiserver.Error(metav1.StatusReasonNotFound), apierrors.IsNotFound}, {apiserver.Error(metav1.StatusReasonUnauthorized), apierrors.IsUnauthorized},
		{apiserver.Forbidden, apierrors.IsForbidden}, {apiserver.Error(metav1.StatusReasonExpired), apierrors.IsResourceExpired},
		{apiserver.Error(metav1.StatusReasonGone), apierrors.IsGone}, {apiserver.Error(metav1.StatusReasonInternalError), apierrors.IsInternalError},
		{apiserver.Error(metav1.StatusReasonServiceUnavailable), apierrors.IsServiceUnavailable}, {apiserver.Error(metav1.StatusReasonTimeout), apierrors.IsTimeout},
		{apiserver.TooLargeVersion, apierrors.IsTimeout}, {apiserver.TooManyRequests(time.Millisecond), apierrors.IsTooManyRequests},
	} {
		f := b.s.Fail(apiserver.On("update", "configmaps").Named("a"), tc.effect)
		_, text, err := b.do("PUT", mapsPath+"/a", `{"metadata":{"name":"a"},"data":{"k":"2"}}`)
		var status metav1.Status
		if err := errors.Join(err, json.Unmarshal([]byte(text), &status)); err != nil {
			t.Fatal(err)
		}
		if !tc.is(&apierrors.StatusError{ErrStatus: status}) || f.Count() != 1 {
			t.Errorf("%v: %s, matched %d times", tc.effect, text, f.Count())
		}
		f.End()
	}
	if _, text, err := b.do("GET", mapsPath+"/a", ""); err != nil || strings.Contains(text, `"k"`) {
		t.Errorf("an update that failed took effect: %s, %v", text, err)
	}
	b.s.Fail(apiserver.On("get", "configmaps"), apiserver.Answers(404, "text/plain", "no route"))
	if code, text, err := b.do("GET", mapsPath+"/a", ""); code != 404 || text != "no route" {
		t.Error(code, text, err)
	}
}

func TestTooManyRequestsSaysWhen(t *testing.T) {
	b := newBroken(t)
	b.s.Fail(apiserver.On("get", "/readyz"), apiserver.TooManyRequests(90*time.Second))
	resp, err := b.http.Get(b.s.URL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Retry-After"); resp.StatusCode != 429 || got != "90" {
		t.Errorf("%d, Retry-After %q", resp.StatusCode, got)
	}
}

// A request that is cut before it takes effect, and one that is cut after.
func TestFailConnections(t *testing.T) {
	b := newBroken(t)
	b.s.Fail(apiserver.On("create", "configmaps").Named("before"), apiserver.CutBefore)
	b.s.Fail(apiserver.On("create", "configmaps").Named("after"), apiserver.LoseAnswer)
	b.s.Fail(apiserver.On("get", "configmaps").Named("within"), apiserver.CutWithin(20))
	for _, name := range []string{"before", "after"} {
		if code, _, err := b.do("POST", mapsPath, `{"metadata":{"name":"`+name+`"}}`); err == nil {
			t.Errorf("%s was answered: %d", name, code)
		}
	}
	if code, _, _ := b.do("GET", mapsPath+"/before", ""); code != 404 {
		t.Errorf("a request that was cut before took effect: %d", code)
	}
	if code, _, _ := b.do("GET", mapsPath+"/after", ""); code != 200 {
		t.Errorf("a request whose answer was lost took no effect: %d", code)
	}
	b.make("within")
	if code, text, err := b.do("GET", mapsPath+"/within", ""); code != 200 || len(text) != 20 || err == nil {
		t.Errorf("got %d %q %v, want 20 bytes and an error", code, text, err)
	}
}

// A request hangs until the fault ends, and then takes effect.
func TestHang(t *testing.T) {
	b := newBroken(t)
	hang := b.s.Fail(apiserver.On("create", "configmaps").Named("hangs"), apiserver.Hang)
	answered := make(chan int, 1)
	go func() {
		code, _, _ := b.do("POST", mapsPath, `{"metadata":{"name":"hangs"}}`)
		answered <- code
	}()
	if err := hang.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := b.do("GET", mapsPath+"/hangs", ""); code != 404 {
		t.Errorf("a request that hangs took effect: %d", code)
	}
	hang.End()
	if code := <-answered; code != 201 {
		t.Errorf("after the fault: %d", code)
	}
}

// A request that is late takes effect although its client has gone.
func TestLate(t *testing.T) {
	inABubble(t, func(t *testing.T, s *apiserver.Server) {
		c, w := newClient(t, s), openWatch(t, s, "")
		late := s.Fail(apiserver.On("create", "configmaps").Named("late"), apiserver.Late(100*time.Millisecond))
		ctx, gone := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := client.Create(ctx, c, configMap("late", "1"))
			ended <- err
		}()
		if err := late.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		gone(errors.New("the client goes"))
		if err := <-ended; err == nil {
			t.Error("a client that has gone got an answer")
		}
		if got := next(t, w); got != "late" {
			t.Errorf("got %s, want late", got)
		}
	})
}

// The events and the end of a watch from the beginning, over four ConfigMaps, for each effect.
func TestFailWatches(t *testing.T) {
	for _, tc := range []struct {
		effects []apiserver.Effect
		want    string
	}{
		{[]apiserver.Effect{apiserver.EndAfter(0)}, "end"},
		{[]apiserver.Effect{apiserver.EndAfter(3)}, "a b c end"},
		{[]apiserver.Effect{apiserver.CutAfter(1)}, "a cut"},
		{[]apiserver.Effect{apiserver.CutFrame(2)}, "a half cut"},
		{[]apiserver.Effect{apiserver.ExpireAfter(2)}, "a b 410 end"},
		{[]apiserver.Effect{apiserver.DropEvents(2, 3), apiserver.EndAfter(4)}, "a d end"},
		{[]apiserver.Effect{apiserver.RepeatEvents(1, 1), apiserver.EndAfter(2)}, "a a b end"},
		{[]apiserver.Effect{apiserver.SwapEvents(2), apiserver.EndAfter(4)}, "a c b d end"},
		{[]apiserver.Effect{apiserver.InsertFrame(1, "garbage"), apiserver.EndAfter(2)}, "a garbage b end"},
		{[]apiserver.Effect{apiserver.DelayEvents(time.Millisecond), apiserver.EndAfter(2)}, "a b end"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			b := newBroken(t)
			b.make("a", "b", "c", "d")
			b.s.Fail(apiserver.On("watch", "configmaps"), tc.effects...)
			w := b.watch("")
			var got []string
			for {
				line, err := w.ReadString('\n')
				switch {
				case strings.Contains(line, `"code":410`):
					got = append(got, "410")
				case strings.Contains(line, `"name":"`) && err == nil:
					_, rest, _ := strings.Cut(line, `"name":"`)
					got = append(got, rest[:1])
				case line != "" && err != nil:
					got = append(got, "half")
				case line != "":
					got = append(got, strings.TrimSpace(line))
				}
				if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					got = append(got, "end")
				} else if err != nil {
					got = append(got, "cut")
				}
				if err != nil {
					break
				}
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

// A silent watch continues without a loss when the fault ends.
func TestSilence(t *testing.T) {
	inABubble(t, func(t *testing.T, s *apiserver.Server) {
		put(t, s, "a")
		put(t, s, "b")
		silence := s.Fail(apiserver.On("watch", "configmaps"), apiserver.SilentAfter(1))
		w := openWatch(t, s, "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
		lines := make(chan string)
		go func() {
			defer close(lines)
			for {
				line, err := w.ReadString('\n')
				if err != nil {
					return
				}
				select {
				case lines <- line:
				case <-t.Context().Done():
					return
				}
			}
		}()
		if line := <-lines; !strings.Contains(line, `"a"`) {
			t.Errorf("got %s", line)
		}
		put(t, s, "c")
		time.Sleep(30 * time.Second) // before the next bookmark
		synctest.Wait()
		select {
		case line := <-lines:
			t.Errorf("a silent watch says %s", line)
		default:
		}
		silence.End()
		for _, want := range []string{`"b"`, "BOOKMARK", `"c"`} {
			if line := <-lines; !strings.Contains(line, want) {
				t.Errorf("got %s, want %s", line, want)
			}
		}
	})
}

func TestLoseBookmarks(t *testing.T) {
	b := newBroken(t)
	b.make("a")
	b.s.Fail(apiserver.On("watch", "configmaps").With("sendInitialEvents=true"), apiserver.LoseBookmarks, apiserver.EndAfter(2))
	w := b.watch("allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
	if line, err := w.ReadString('\n'); !strings.Contains(line, `"a"`) {
		t.Error(line, err)
	}
	b.make("b")
	if line, err := w.ReadString('\n'); !strings.Contains(line, `"b"`) {
		t.Errorf("%s %v, want no bookmark before b", line, err)
	}
}

// Lists of an older state, without a parameter, and with another body.
func TestFailReads(t *testing.T) {
	b := newBroken(t)
	b.make("a", "b", "c")
	count := func(query string) int {
		code, text, err := b.do("GET", mapsPath+query, "")
		if code != 200 {
			t.Fatal(code, text, err)
		}
		return strings.Count(text, `"name":`)
	}
	stale := b.s.Fail(apiserver.On("list", "configmaps"), apiserver.StaleBy(2))
	if n := count(""); n != 1 {
		t.Errorf("%d objects, want 1", n)
	}
	stale.End()
	if n := count("?limit=2"); n != 2 {
		t.Errorf("%d objects, want 2", n)
	}
	b.s.Fail(apiserver.On("list", "configmaps").With("limit"), apiserver.Ignore("limit"))
	if n := count("?limit=2"); n != 3 {
		t.Errorf("%d objects, want 3", n)
	}
	b.s.Fail(apiserver.On("get", "configmaps"), apiserver.Rewrite(func(text []byte) []byte { return []byte(strings.ToUpper(string(text))) }))
	if _, text, err := b.do("GET", mapsPath+"/a", ""); !strings.Contains(text, `"NAME":"A"`) {
		t.Error(text, err)
	}
}

// A restart cuts watches and loses the history, but no object.
func TestRestart(t *testing.T) {
	b := newBroken(t)
	b.make("a")
	w := b.watch("")
	if line, err := w.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	b.s.Restart()
	if line, err := w.ReadString('\n'); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%s %v, want a reset", line, err)
	}
	if code, _, _ := b.do("GET", mapsPath+"/a", ""); code != 200 {
		t.Errorf("an object is lost: %d", code)
	}
	if line, err := b.watch("resourceVersion=2").ReadString('\n'); !strings.Contains(line, `"code":410`) {
		t.Error(line, err)
	}
	f := b.s.Fail(apiserver.On("delete", "configmaps"), apiserver.Restart)
	if code, _, err := b.do("DELETE", mapsPath+"/a", ""); err == nil || f.Count() != 1 {
		t.Errorf("a server that restarted answered %d", code)
	}
	f.End()
	if code, _, _ := b.do("GET", mapsPath+"/a", ""); code != 200 {
		t.Errorf("a request that restarted the server took effect: %d", code)
	}
}

func TestAdvance(t *testing.T) {
	b := newBroken(t)
	b.s.Advance(-100 * 365 * 24 * time.Hour)
	_, text, err := b.do("POST", mapsPath, `{"metadata":{"name":"old"}}`)
	if !strings.Contains(text, `"creationTimestamp":"19`) {
		t.Error(text, err)
	}
}

// failing is a test that keeps its errors and cleanups.
type failing struct {
	testing.TB
	cleanup []func()
	errors  []string
}

func (f *failing) Cleanup(c func()) { f.cleanup = append(f.cleanup, c) }
func (f *failing) Errorf(format string, args ...any) {
	f.errors = append(f.errors, strings.TrimSpace(args[0].(string)))
}

// A rule that has matched nothing fails its test. The error shows the rule as the test has written it.
func TestARuleThatMatchedNothing(t *testing.T) {
	f := &failing{TB: t}
	s := apiserver.Start(f, apiserver.Options{})
	s.Fail(apiserver.On("update", "deployments/status").In("shop").From("manager").Times(3), apiserver.Conflict, apiserver.Delay(time.Second))
	for _, c := range f.cleanup {
		c()
	}
	if want := `On("update", "deployments/status").In("shop").From("manager").Times(3), Conflict, Delay(1s)`; len(f.errors) != 1 || f.errors[0] != want {
		t.Errorf("the test failed by %q, want %q", f.errors, want)
	}
}

// A number that is computed may be 0. Then the rule is not for every request.
func TestRulesOfNoRequest(t *testing.T) {
	for want, rule := range map[string]apiserver.Rule{
		"Times(0): requests are counted from 1": apiserver.On("get", "pods").Times(0),
		"Nth(0): requests are counted from 1":   apiserver.On("get", "pods").In("shop").Nth(0),
	} {
		f := &fatal{TB: t}
		func() {
			defer func() { _ = recover() }()
			apiserver.Start(f, apiserver.Options{}).Fail(rule, apiserver.Conflict)
		}()
		if !strings.Contains(f.text, want) {
			t.Errorf("the test ended with %q, want %q", f.text, want)
		}
	}
}

// A rule with a mistake ends its test. Without a test it panics.
func TestARuleThatIsNone(t *testing.T) {
	const want = `there is no verb "updat"`
	f := &fatal{TB: t}
	func() {
		defer func() { _ = recover() }()
		apiserver.Start(f, apiserver.Options{}).Fail(apiserver.On("updat", "pods"), apiserver.Conflict)
	}()
	if !strings.Contains(f.text, want) {
		t.Errorf("the test ended with %q", f.text)
	}
	s, err := apiserver.New(t.Context(), apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer func() {
		if got, _ := recover().(error); got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("Fail said %q", got)
		}
	}()
	s.Fail(apiserver.On("updat", "pods"), apiserver.Conflict)
}
