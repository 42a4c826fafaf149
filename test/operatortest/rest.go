package operatortest

import (
	"context"
	"time"
)

// movement is what happens in a cluster and its operator.
type movement struct {
	moves  bool    // something is done, or will be
	adds   float64 // requests of the operator so far
	events int64   // events of the object so far
}

// persistent is how often the reconciles of an object fail in a row before another try is no longer a movement.
const persistent = 10

// movement tells whether anything moves. Where that cannot be known, it does.
func (op *Operator) movement(ctx context.Context) movement {
	if op.server.Memory == nil || op.program.Run != nil {
		return movement{moves: true}
	}
	settled, cancel := context.WithTimeout(ctx, restCheck)
	defer cancel()
	if op.server.Memory.Settle(settled) != nil || !op.server.Memory.Due().IsZero() {
		return movement{moves: true}
	}
	var now movement
	leads, delayed := false, 0
	for _, m := range op.Replicas {
		leads = leads || m.Leading()
		if m.Ready().Err(ctx) != nil {
			return movement{moves: true}
		}
		families, err := m.Gatherer().Gather()
		if err != nil {
			return movement{moves: true}
		}
		for _, f := range families {
			for _, figure := range f.GetMetric() {
				value := figure.GetGauge().GetValue()
				switch f.GetName() {
				case "workqueue_adds_total":
					now.adds += figure.GetCounter().GetValue()
				case "workqueue_depth", "workqueue_longest_running_processor_seconds", "flyball_watch_backlog", "flyball_handler_backlog":
					now.moves = now.moves || value > 0
				case "flyball_workqueue_delayed":
					delayed += int(value)
				}
			}
		}
	}
	now.moves = now.moves || !leads || delayed > op.said.futile(time.Now())
	return now
}
