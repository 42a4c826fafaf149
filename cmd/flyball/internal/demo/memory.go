package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/tape"
	"github.com/flyball-io/flyball/run"
)

// answers are the answers of the rules to all that the story asks. TestAnswersAreThoseOfRules compares them with the
// rules, and records them anew with UPDATE_GOLDEN=1.
//
//go:embed answers
var answers []byte

// errMissed ends a story that asks what was not recorded.
var errMissed = errors.New("the story asks what was not recorded")

// inMemory runs the demonstration on the API server in memory. Each story has a new server, so that all ask the same, and
// the recorded answers serve all of them. If one asks something else, it begins anew with the rules, which are built for
// it.
func inMemory(ctx context.Context, o Options) error {
	once := o
	once.Once, once.again = true, !o.Once
	if o.Image != Image {
		return repeat(ctx, o, func() error { return tellOn(ctx, once) })
	}
	recorded := true
	return repeat(ctx, o, func() error {
		if recorded {
			err := replayed(ctx, once)
			if !errors.Is(err, errMissed) {
				return err
			}
			recorded = false
			fmt.Fprintln(o.Progress, "apiserver:", err)
			fmt.Fprintln(o.Progress, "apiserver: the story begins anew, with the rules of Kubernetes")
		}
		return tellOn(ctx, once)
	})
}

// repeat tells a story until it fails or ctx ends; once if the options say so.
func repeat(ctx context.Context, o Options, tell func() error) error {
	for {
		if err := tell(); err != nil || o.Once || ctx.Err() != nil {
			return err
		}
		if run.Sleep(ctx, 5*o.Pace) != nil {
			return nil
		}
	}
}

// replayed tells the story with recorded answers.
func replayed(ctx context.Context, o Options) error {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t, err := tape.Replay(answers, func(req *rules.Request) {
		cancel(fmt.Errorf("%w: %s %s", errMissed, req.Method, req.URL))
	})
	if err != nil {
		return fmt.Errorf("%w: the recorded answers: %w", errMissed, err)
	}
	err = tellOn(tape.Into(bounded, t), o)
	if missed := context.Cause(bounded); errors.Is(missed, errMissed) && ctx.Err() == nil {
		return missed
	}
	return err
}
