package measure

import (
	"context"
	"errors"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contend"
)

const (
	readersRate  = 50_000 // events a second
	readersBurst = 250    // of them happen at once
)

// contending is one goroutine that reads at full speed while the objects that it reads change: in
// turn a Get, a header and a list of twenty by the index. After each read it computes for as long
// as such a read takes, without memory or locks. Only the scheduler and the machine delay that, as
// often as they delay reads. The system also reports which reads kept their core: they were neither
// preempted nor waiting.
var contending = stage{
	name: "readers", help: "reads at full speed beside 50,000 events a second",
	cases: []caseOf{
		{"read beside 50,000 events/s, p50", "µs"},
		{"read beside 50,000 events/s, p99", "µs"},
		{"read beside 50,000 events/s, p99.9", "µs"},
		{"read beside 50,000 events/s, longest", "µs"},
		{"read beside 50,000 events/s, within 1 ms", "%"},
		{"read beside 50,000 events/s, p99.9 with a core", "µs"},
		{"read beside 50,000 events/s, longest with a core", "µs"},
		{"computing beside 50,000 events/s, p99.9", "µs"},
		{"computing beside 50,000 events/s, longest", "µs"},
		{"computing beside 50,000 events/s, within 1 ms", "%"},
		{"computing beside 50,000 events/s, longest with a core", "µs"},
		{"events handled beside readers", "1/s"},
	},
	skip: onlyMetadata,
	run: func(ctx context.Context, n *session) error {
		type answer struct {
			r   contend.Report
			err error
		}
		answers := make(chan answer, 1)
		go func() {
			r, err := n.process.ask("readers %d", (4 * n.setup.Reading).Nanoseconds())
			answers <- answer{r, err}
		}()
		tick := time.NewTicker(time.Second * readersBurst / readersRate)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := n.server.Touch(readersBurst, n.tape.Len()); err != nil {
					return errors.Join(err, (<-answers).err)
				}
			case a := <-answers:
				if a.err != nil {
					return a.err
				}
				for name, v := range a.r.Reads {
					n.set(name, v.NS)
				}
				_, err := n.reached()
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	},
}
