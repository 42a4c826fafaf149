package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// A watch of a custom resource ends when the definition has changed, but for its status, or is gone.
func TestWatchEndsWithItsDefinition(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := New(Options{Rules: toy})
	uid := "a"
	define := func(generation int, gone bool) {
		version := s.Version() + 1
		text := fmt.Sprintf(`{"metadata":{"generation":%d,"resourceVersion":"%d","uid":%q}}`, generation, version, uid)
		s.apply(now, []rules.Write{{Key: definitionKeys + "toys.example.com", Version: version, Object: []byte(text), Delete: gone}})
	}
	begin := func() *Watch {
		return s.Now().Read(now, Request{Method: "GET", URL: fmt.Sprintf("/apis/example.com/v1/toys?watch=true&resourceVersion=%d", s.Version())}).Watch
	}
	define(1, false)
	w := begin()
	if w.Over(s.Now()) {
		t.Error("it ends at once")
	}
	define(1, false)
	if w.Over(s.Now()) {
		t.Error("it ends with the status")
	}
	define(2, false)
	if !w.Over(s.Now()) {
		t.Error("it goes on with another definition")
	}
	w = begin()
	define(2, true)
	if !w.Over(s.Now()) {
		t.Error("it goes on without a definition")
	}
	uid = "b"
	define(2, false)
	if !w.Over(s.Now()) {
		t.Error("it goes on with a definition that was made later")
	}
}
