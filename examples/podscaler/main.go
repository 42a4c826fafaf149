// Command podscaler runs the controller of package scaler, in a cluster or outside one.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
)

func main() {
	o := flyball.Options{Name: "podscaler"}
	o.Cache.Namespaces = []string{cmp.Or(os.Getenv("MY_NAMESPACE"), "default")} // --namespaces= for all
	o.Bind(flag.CommandLine)
	interval := flag.Duration("update-interval", time.Minute, "`time` between full re-checks; 0 for none")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "podscaler: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	mgr, err := flyball.New(o)
	if err == nil {
		err = scaler.Add(mgr, *interval, controller.Options{})
	}
	if err == nil {
		err = mgr.Run(flyball.SignalContext())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "podscaler:", err)
		os.Exit(1)
	}
}
