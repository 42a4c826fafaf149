package measure

import (
	"context"

	"github.com/flyball-io/flyball/lab/bench/contend"
)

// blocking measures the growth of memory while one handler blocks and the others go on. The last
// handler handles all events.
var blocking = stage{
	name: "blocked", help: "a handler that blocks while events arrive", own: true,
	cases:  []caseOf{{"growth while a handler is blocked", "MB"}},
	change: func(j *contend.Job) { j.Blocked = true },
	run: func(_ context.Context, n *session) error {
		for _, command := range []string{"sync", "settled", "block"} {
			if _, err := n.process.ask("%s", command); err != nil {
				return err
			}
		}
		before, err := n.process.ask("retained")
		if err != nil {
			return err
		}
		if err := n.server.Touch(n.setup.Blocked, n.setup.BlockedKeys); err != nil {
			return err
		}
		if _, err := n.reached(); err != nil {
			return err
		}
		after, err := n.process.ask("retained")
		if err != nil {
			return err
		}
		n.set("growth while a handler is blocked", float64(after.Retained-before.Retained)/1e6)
		return nil
	},
}
