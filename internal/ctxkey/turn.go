package ctxkey

import "context"

// Turner makes a part of a program wait until it is its turn. A simulation has one: it lets one part go on at a time, in
// the order of their names, so that a run is the same when it is repeated. It returns early when ctx ends. last says that
// a queue hands out first what became ready last.
type Turner func(ctx context.Context, who string) (last bool)

// turns is the key of a part, whose value is a [part].
type turns struct{}

// part is a part of a program that waits for its turn.
type part struct {
	wait Turner
	who  string
}

// WithTurns returns a context in which parts wait for their turns.
func WithTurns(ctx context.Context, t Turner) context.Context {
	return context.WithValue(ctx, turns{}, part{t, ""})
}

// As returns a context whose [Turn] waits for the turn of a part. Outside of a simulation that is ctx.
func As(ctx context.Context, who string) context.Context {
	p, simulated := ctx.Value(turns{}).(part)
	if !simulated {
		return ctx
	}
	return context.WithValue(ctx, turns{}, part{p.wait, who})
}

// Turn returns the function that waits for the turn of the part that ctx names, or of one without a name; nil outside of a
// simulation. Each call for an item of a queue asks it, so it is one lookup.
func Turn(ctx context.Context) func(context.Context) (last bool) {
	p, simulated := ctx.Value(turns{}).(part)
	if !simulated {
		return nil
	}
	return func(ctx context.Context) bool { return p.wait(ctx, p.who) }
}
