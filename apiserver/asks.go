package apiserver

import (
	"context"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/tape"
)

// asks are the functions that ask the rules: one for the first objects, one for later requests.
type asks struct {
	first, later core.Rules
	// alone says that the server shares nothing with others: a tape has all that it asks.
	alone bool
}

// asks returns the functions for a new server. They are those of the tape in ctx, if there is one.
func (o Options) asks(ctx context.Context) (asks, error) {
	t := tape.From(ctx)
	if t != nil && t.Replays() {
		ask := core.Rules(t.Over(nil))
		return asks{ask, ask, true}, nil
	}
	do, err := rulesFor(ctx, o.progress())
	if err != nil {
		return asks{}, err
	}
	if t != nil {
		ask := core.Rules(t.Over(do))
		return asks{ask, ask, true}, nil
	}
	again := memo.Creates
	if inBubble() || o.Now != nil {
		again = memo.All
	}
	return asks{core.Rules(answers.Over(do, memo.First)), core.Rules(answers.Over(do, again)), false}, nil
}
