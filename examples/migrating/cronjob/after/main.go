// Command after makes Jobs for each CronJob. It is written with Flyball.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/scheme"

	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cronjob:", err)
		os.Exit(1)
	}
}

func run() error {
	o := flyball.Options{Name: "cronjob", Scheme: scheme.New()}
	if err := api.AddToScheme(o.Scheme); err != nil {
		return err
	}
	o.Bind(flag.CommandLine) // --webhook-addr, --webhook-cert-dir and the others
	flag.Parse()
	mgr, err := flyball.New(o)
	if err != nil {
		return err
	}
	r := &reconciler{client: mgr.Client(), live: mgr.Live()}
	if err := r.setup(mgr); err != nil {
		return err
	}
	if err := setupWebhooks(mgr); err != nil {
		return err
	}
	return mgr.Run(flyball.SignalContext())
}
