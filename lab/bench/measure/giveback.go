package measure

import (
	"context"
	"math"
	"time"
)

// deleting measures how much memory the process returns after most objects are deleted.
var deleting = stage{
	name: "delete", help: "memory given back after 90 % of the objects are deleted", own: true,
	cases: []caseOf{{"memory after deleting 90 %, of the peak", "%"}},
	run: func(ctx context.Context, n *session) error {
		if _, err := n.process.ask("sync"); err != nil {
			return err
		}
		if err := n.server.Delete(n.tape.Len() * 9 / 10); err != nil {
			return err
		}
		r, err := n.reached()
		if err != nil {
			return err
		}
		least := math.Inf(1)
		end := time.NewTimer(n.setup.Settle)
		defer end.Stop()
		look := time.NewTicker(min(n.setup.Settle, time.Second))
		defer look.Stop()
		for waiting := true; waiting; {
			select {
			case <-look.C:
			case <-end.C:
				waiting = false
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if r, err = n.process.ask("usage"); err != nil {
				return err
			}
			least = min(least, float64(r.Usage.RSS))
		}
		const name = "memory after deleting 90 %, of the peak"
		n.set(name, 100*least/float64(r.Usage.Peak))
		n.figures.overIdle[name] = 100 * (least - float64(n.idle.RSS)) / float64(r.Usage.Peak-n.idle.RSS)
		return nil
	},
}
