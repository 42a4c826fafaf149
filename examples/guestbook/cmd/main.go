// Command guestbook runs all controllers and webhooks of this project.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/flyball-io/flyball"

	"github.com/flyball-io/flyball/examples/guestbook/internal/setup"
)

// What every program of this kind may do: tell people what happens.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "guestbook:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := setup.Options()
	if err != nil {
		return err
	}
	o.Bind(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	mgr, err := flyball.New(o)
	if err != nil {
		return err
	}
	if err := setup.Add(mgr); err != nil {
		return err
	}
	return mgr.Run(flyball.SignalContext())
}
