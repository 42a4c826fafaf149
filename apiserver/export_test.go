package apiserver

import (
	"context"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/web"
	"github.com/flyball-io/flyball/test/plane"
)

// Direct returns rules that remember nothing.
func Direct(t testing.TB) core.Rules {
	t.Helper()
	client, err := sharedRules(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do
}

// Own returns the rules of a program of its own, whose frames are bounded.
func Own(t testing.TB, frame int) core.Rules {
	t.Helper()
	binary, err := rulesBinary(t.Context(), os.Stderr)
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
	do, err := rulesFor(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ask := core.Rules(answers.Over(do, memo.Creates))
	b, err := beginning(asks{first: ask}, false, nil, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return b, ask
}

// Impatient starts the rules as the first call of a process does, with a context that has ended. It returns the error of
// that call, and the error that is kept for later calls.
func Impatient(t *testing.T) (err, later error) {
	t.Setenv(plane.RulesEnv, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	shared.Lock()
	client := shared.client
	shared.client = nil
	shared.Unlock()
	_, err = sharedRules(ctx, io.Discard)
	shared.Lock()
	defer shared.Unlock()
	later, shared.client, shared.err = shared.err, client, nil
	return err, later
}
