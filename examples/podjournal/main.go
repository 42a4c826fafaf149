// Command podjournal keeps a ConfigMap beside every Pod that carries the label
// journal.flyball.dev/enabled=true, by informers, a queue and workers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config, or the Pod's own account)")
	namespace := flag.String("namespace", os.Getenv("MY_NAMESPACE"), "`namespace` to work in (default: all)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "podjournal: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx := flyball.SignalContext()
	c, err := client.Dial(ctx, client.ConfigOptions{Kubeconfig: *kubeconfig}, client.Options{})
	if err == nil {
		err = keep(ctx, c, *namespace)
	}
	if err != nil && !errors.Is(err, context.Cause(ctx)) {
		fmt.Fprintln(os.Stderr, "podjournal:", err)
		os.Exit(1)
	}
}
