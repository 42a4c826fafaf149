package operatortest

import (
	"context"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/internal/managerload"
)

// movement is what happens in a cluster and its operator.
type movement struct {
	why    string  // what is done, or will be; empty: nothing
	adds   float64 // requests of the operator so far
	events int64   // events of the object so far
}

// persistent is how often the reconciles of an object fail in a row before another try is no longer a movement.
const persistent = 10

// movement tells whether anything moves, or will before the deadline of ctx. Where that cannot be known, it does.
func (op *Operator) movement(ctx context.Context) movement {
	switch {
	case op.server.Memory == nil:
		return movement{why: "the server is a real one"}
	case op.program.Run != nil:
		return movement{why: "Program.Run runs"}
	}
	settled, cancel := context.WithTimeout(ctx, restCheck)
	defer cancel()
	if op.server.Memory.Settle(settled) != nil {
		return movement{why: "the server's controllers work"}
	}
	end, _ := ctx.Deadline()
	if due := op.server.Memory.Due(); !due.IsZero() && due.Before(end) {
		return movement{why: "the server's controllers have something to do in " + time.Until(due).Round(time.Second).String()}
	}
	var now movement
	leads, delayed := false, 0
	for _, m := range op.Replicas {
		leads = leads || m.Leading()
		if err := m.Ready().Err(ctx); err != nil {
			return movement{why: fmt.Sprintf("the operator is not ready: %v", err)}
		}
		load, err := managerload.Of(m.Gatherer())
		if err != nil {
			return movement{why: err.Error()}
		}
		if load.Busy {
			now.why = "the operator has something to do"
		}
		now.adds += load.Adds
		delayed += load.Delayed
	}
	switch futile := op.said.futile(time.Now()); {
	case !leads:
		now.why = "no replica leads"
	case delayed > futile:
		now.why = fmt.Sprintf("the operator has %d requests for later, of which %d have failed again and again", delayed, futile)
	}
	return now
}
