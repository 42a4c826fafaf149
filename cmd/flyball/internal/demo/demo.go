// Package demo is the demonstration: podscaler on an API server in memory or a real cluster, with a story
// around it.
//
//	story ──── creates, changes, deletes ────► cluster ──── watches ────► podscaler
//	  ▲                                           ▲                       │ │ │
//	  │ awaits                                    └────── writes ─────────┘ │ │
//	board ◄──── events, reconciles, writes ◄────────────────────────────────┘ │
//	screen ◄── the same, as lines; and the story's own ◄──────────────────────┘
package demo

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/run"
)

const name = "podscaler"

// Options configures the demonstration.
type Options struct {
	// Kubeconfig is that of the cluster to use. Empty means a new one, which ends with the demonstration.
	Kubeconfig string
	// Real makes the new one a real control plane. Otherwise it is an API server in memory, with controllers.
	Real bool
	// Once runs the story once. Otherwise it is repeated until ctx ends.
	Once bool
	// Pace is the time between two Pods. Other pauses are proportional to it. It must be positive.
	Pace time.Duration
	// Image is the image of the Pods, in a cluster that runs them.
	Image string
	// JSON prints a [Line] as a JSON object on each line.
	JSON bool
	// Colour uses colours, for a terminal.
	Colour bool
	// Out receives the lines, and Progress the progress of the start.
	Out, Progress io.Writer

	again bool            // another story follows
	after func(s *steady) // is called after each request; may be nil
}

// Image is the default image of the Pods. It is in the recorded answers.
const Image = "rancher/mirrored-pause:3.6"

// errOver says that the story has ended.
var errOver = errors.New("the story is over")

// Run runs the demonstration until ctx ends, or with Once until the story ends. It has removed
// everything that it made when it returns. The error is nil if all expectations so far have held,
// and an *ExpectationError if one has failed. Any other error is a failure of the demonstration.
func Run(ctx context.Context, o Options) error {
	if o.Real || o.Kubeconfig != "" {
		return tellOn(ctx, o)
	}
	return inMemory(ctx, o)
}

// tellOn runs the demonstration on one cluster.
func tellOn(ctx context.Context, o Options) (err error) {
	c, err := open(ctx, o)
	if err != nil {
		return unlessAsked(ctx, err)
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	return unlessAsked(ctx, perform(ctx, o, c))
}

// unlessAsked drops an error that is caused by the request to stop.
func unlessAsked(ctx context.Context, err error) error {
	if _, failed := errors.AsType[*ExpectationError](err); ctx.Err() != nil && !failed {
		return nil
	}
	return err
}

// perform runs podscaler, the story and the screen.
func perform(ctx context.Context, o Options, c *cluster) error {
	sc, b := newScreen(o), newBoard()
	w := &watcher{screen: sc, board: b}
	mo := flyball.Options{
		Name: name, Config: c.config, GracePeriod: time.Second,
		Client: client.Options{Hook: w.requested},
		Logger: slog.New(&logger{screen: sc}),
	}
	mo.Cache.Namespaces = []string{c.namespace}
	mgr, err := flyball.New(mo)
	if err != nil {
		return err
	}
	if err := scaler.Add(mgr, time.Minute, controller.Options{Hooks: controller.Hooks{Reconciled: w.reconciled}}); err != nil {
		return err
	}
	unsubscribe, err := w.subscribe(ctx, mgr)
	if err != nil {
		return err
	}
	defer unsubscribe()

	g, _ := run.New(ctx)
	g.Go("", sc.run)
	g.Go(name, mgr.Run)
	g.Go("", c.watch)
	g.Go("", func(ctx context.Context) error {
		if err := mgr.Cache().WaitForSync(ctx); err != nil {
			return err
		}
		sc.begin()
		t := &teller{o: o, c: c, screen: sc, board: b, figures: mgr.Gatherer()}
		return t.tell(ctx)
	})
	if err := g.Wait(); !errors.Is(err, errOver) {
		return err
	}
	return nil
}
