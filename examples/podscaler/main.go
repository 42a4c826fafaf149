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
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config, or the Pod's own account)")
	namespace := flag.String("namespace", cmp.Or(os.Getenv("MY_NAMESPACE"), "default"), "`namespace` to scale in")
	all := flag.Bool("all-namespaces", false, "scale in every namespace")
	interval := flag.Duration("update-interval", time.Minute, "`time` between full re-checks; 0 for none")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "podscaler: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	o := flyball.Options{Name: "podscaler", Kubeconfig: *kubeconfig}
	if !*all {
		o.Cache.Namespaces = []string{*namespace}
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
