// Command after runs memcached servers for each Memcached. It is written with Flyball.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/scheme"

	"github.com/flyball-io/flyball/examples/migrating/memcached/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "memcached:", err)
		os.Exit(1)
	}
}

func run() error {
	o := flyball.Options{Name: "memcached", Scheme: scheme.New()}
	if err := api.AddToScheme(o.Scheme); err != nil {
		return err
	}
	o.Bind(flag.CommandLine)
	flag.Parse()
	mgr, err := flyball.New(o)
	if err != nil {
		return err
	}
	r := &reconciler{client: mgr.Client(), events: mgr.Events()}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return mgr.Run(flyball.SignalContext())
}
