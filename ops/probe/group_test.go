package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/ops/probe"
)

func addGroup(t *testing.T, s *probe.Set, name string, f probe.Group) (remove func()) {
	t.Helper()
	remove, err := s.AddGroup(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return remove
}

func TestGroupAnswersForManyChecks(t *testing.T) {
	s := newSet(t, probe.Options{})
	add(t, s, "ping", fine)
	add(t, s, "hidden", fine)
	remove := addGroup(t, s, "caches", func(context.Context) map[string]error {
		return map[string]error{"cache-pods": nil, "cache-secrets": errors.New("forbidden"), "hidden": errors.New("not asked")}
	})
	for _, tt := range []struct {
		path string
		code int
		body string
	}{
		{"/readyz", 503, "[+]cache-pods ok\n[-]cache-secrets failed: forbidden\n[+]hidden ok\n[+]ping ok\nreadyz check failed\n"},
		{"/readyz?exclude=cache-secrets", 200, "ok"},
		{"/readyz?exclude=caches", 200, "ok"},
		{"/readyz?verbose&exclude=cache-secrets", 200, "[+]cache-pods ok\n[+]hidden ok\n[+]ping ok\n[+]cache-secrets excluded: ok\nreadyz check passed\n"},
		{"/readyz?exclude=cache-secrets&exclude=cache-nodes", 200, "[+]cache-pods ok\n[+]hidden ok\n[+]ping ok\n[+]cache-secrets excluded: ok\nwarn: no checks to exclude have the names \"cache-nodes\"\nreadyz check passed\n"},
		{"/readyz/cache-pods", 200, "ok"},
		{"/readyz/cache-secrets", 503, "[-]cache-secrets failed: forbidden\n"},
		{"/readyz/hidden", 200, "ok"},
		{"/readyz/caches", 404, "there is no check \"caches\"\n"},
	} {
		if w := get(s.Handler(), tt.path); w.Code != tt.code || w.Body.String() != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.path, w.Code, w.Body, tt.code, tt.body)
		}
	}
	if err := s.Err(t.Context()); err == nil || err.Error() != "cache-secrets: forbidden" {
		t.Error(err)
	}
	remove()
	if w := get(s.Handler(), "/readyz?verbose"); w.Body.String() != "[+]hidden ok\n[+]ping ok\nreadyz check passed\n" {
		t.Errorf("%q", w.Body)
	}
}

// A group that fails as a whole fails under its own name.
func TestFailingGroupFailsUnderItsName(t *testing.T) {
	s := newSet(t, probe.Options{Timeout: 10 * time.Millisecond})
	addGroup(t, s, "panics", func(context.Context) map[string]error { panic("x") })
	end := make(chan struct{})
	defer close(end)
	addGroup(t, s, "hangs", func(context.Context) map[string]error { <-end; return nil })
	addGroup(t, s, "odd", func(context.Context) map[string]error { return map[string]error{"a b": nil} })
	w := get(s.Handler(), "/readyz")
	for _, line := range []string{"[-]panics failed: panicked", "[-]hangs failed: no answer in time", `[-]unnamed failed: "a b": a name must have`} {
		if w.Code != 503 || !strings.Contains(w.Body.String(), line) {
			t.Errorf("%d, without %q: %s", w.Code, line, w.Body)
		}
	}
	for _, err := range []error{second(s.AddGroup("", nil)), second(s.AddGroup("nil", nil)), second(s.AddGroup("odd", func(context.Context) map[string]error { return nil }))} {
		if !isOption(err, "") {
			t.Errorf("%v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Requests within MaxAge get the last answer. Calls of Check run the check.
func TestAnswersAreReusedWithinMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, failed atomic.Int64
		s := newSet(t, probe.Options{MaxAge: time.Second})
		count := func() error {
			asked.Add(1)
			if failed.Load() > 0 {
				return errors.New("down")
			}
			return nil
		}
		add(t, s, "one", func(context.Context) error { return count() })
		addGroup(t, s, "many", func(context.Context) map[string]error { return map[string]error{"two": count()} })
		expect := func(code int, n int64) {
			t.Helper()
			for _, path := range []string{"/readyz", "/readyz?verbose", "/readyz/one", "/readyz/two", "/readyz?exclude=none"} {
				if w := get(s.Handler(), path); w.Code != code {
					t.Errorf("%s: %d, want %d", path, w.Code, code)
				}
			}
			if asked.Load() != n {
				t.Errorf("asked %d times, want %d", asked.Load(), n)
			}
		}
		expect(http.StatusOK, 2)
		failed.Store(1)
		time.Sleep(999 * time.Millisecond)
		expect(http.StatusOK, 2)
		if s.Err(t.Context()) == nil {
			t.Error("Err repeats an old answer")
		}
		expect(http.StatusServiceUnavailable, 4)
		failed.Store(0)
		s.Forget()
		expect(http.StatusOK, 6)
		time.Sleep(time.Second)
		expect(http.StatusOK, 8)
	})
}

// A call that was running during Forget is not cached.
func TestForgetDropsARunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, probe.Options{MaxAge: time.Minute})
		asked := 0
		add(t, s, "slow", func(context.Context) error {
			asked++
			time.Sleep(time.Second)
			return fmt.Errorf("answer %d", asked)
		})
		go get(s.Handler(), "/readyz")
		synctest.Wait()
		s.Forget()
		time.Sleep(2 * time.Second)
		if w := get(s.Handler(), "/readyz/slow"); !strings.Contains(w.Body.String(), "answer 2") {
			t.Errorf("%s", w.Body)
		}
	})
}
