package measure

import "context"

// relisting measures a relist after the server has lost its history. The last object changes
// unseen, the watches end, and the next ones begin with a 410. The case ends when a change on each
// new watch has been handled, and thus after everything from the list.
var relisting = stage{
	name: "relist", help: "a list after a 410",
	cases: []caseOf{
		{"relist, CPU", "s"},
		{"relist, peak memory more than before", "MB"},
	},
	run: func(ctx context.Context, n *session) error {
		before, err := n.process.ask("usage")
		if err != nil {
			return err
		}
		n.peak = max(n.peak, before.Usage.Peak)
		if before, err = n.process.ask("peak"); err != nil {
			return err
		}
		watches := n.server.Watches()
		if err := n.server.Forget(1); err != nil {
			return err
		}
		if err := n.server.AwaitWatches(ctx, watches+len(n.setup.corpus().Resources())); err != nil {
			return err
		}
		if err := n.server.TouchKinds(); err != nil {
			return err
		}
		after, err := n.reached()
		if err != nil {
			return err
		}
		n.set("relist, CPU", after.Usage.CPU-before.Usage.CPU)
		n.set("relist, peak memory more than before", float64(after.Usage.Peak-before.Usage.RSS)/1e6)
		return nil
	},
}
