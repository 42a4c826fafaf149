package measure

import "context"

// churning measures whether memory grows when every object is deleted and replaced, several times.
var churning = stage{
	name: "churn", help: "every object deleted and another one made, several times", own: true,
	cases: []caseOf{{"retained after churn, of that after the first sync", "×"}},
	run: func(_ context.Context, n *session) error {
		if _, err := n.process.ask("sync"); err != nil {
			return err
		}
		first, err := n.process.ask("retained")
		if err != nil {
			return err
		}
		if err := n.server.Churn(n.setup.Churn); err != nil {
			return err
		}
		if _, err := n.reached(); err != nil {
			return err
		}
		last, err := n.process.ask("retained")
		if err != nil {
			return err
		}
		n.set("retained after churn, of that after the first sync", float64(last.Retained)/float64(first.Retained))
		return nil
	},
}
