package apiserver

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/shared"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// Direct returns rules that remember nothing.
func Direct(t testing.TB) core.Rules {
	t.Helper()
	client, err := shared.Rules(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do
}

// Own returns the rules of a program of its own, whose frames are bounded.
func Own(t testing.TB, frame int) core.Rules {
	t.Helper()
	binary, err := shared.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	client := rules.New(binary, rules.Options{Frame: frame})
	t.Cleanup(client.Close)
	return client.Do
}

// Handler returns a server over other rules. end closes it: watches end then. restore returns to the beginning.
func Handler(t testing.TB, ask core.Rules) (h http.Handler, end, restore func()) {
	t.Helper()
	begin, err := core.NewBeginning(ask, false)
	if err != nil {
		t.Fatal(err)
	}
	state := core.New(core.Options{Rules: ask, Nobody: core.Administrator})
	state.Begin(time.Now(), begin)
	s := web.New(state, web.Options{})
	first := s.Snapshot()
	return s, s.Close, func() { s.Restore(first) }
}

// NewOver is New with a memory of answers, as another process has one.
func NewOver(ctx context.Context, o Options, answers *memo.Memory) (*Server, error) {
	return newOver(ctx, o, answers)
}

// Beginning returns the first objects of new states, and rules that remember answers.
func Beginning(t testing.TB) (*core.Beginning, core.Rules) {
	t.Helper()
	do, err := shared.Ask(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ask := core.Rules(shared.Answers.Over(do, memo.Creates))
	b, err := shared.Asks{First: ask}.Beginning(false, nil, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return b, ask
}
