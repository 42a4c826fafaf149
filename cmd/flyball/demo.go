package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/flyball-io/flyball/cmd/flyball/internal/demo"
)

func newDemo() *cobra.Command {
	var o demo.Options
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a controller at work",
		Long: `Run podscaler, the sample controller of this repository, on an API server in
memory that is started for it, and tell a story around it: a Deployment, Pods that
come and go, somebody who interferes, a mistake. The server has the rules of
Kubernetes and small controllers; --real takes a real control plane with etcd
instead. Each line is

    TIME  KIND       OBJECT  WHAT

where KIND is
    story      what the demonstration does next
    event      a change of an object, as podscaler's watches see it
    log        what podscaler decides
    write      a request of podscaler that changes something
    reconcile  a reconcile that has ended, why it ran, and how long it took
    expect     whether what should happen did

The story is told again until Ctrl-C, which ends everything and leaves nothing
behind. With --once it ends by itself: exit status 0 if every expectation held,
else 1, and the reason on standard error.

The story begins within a second: what the rules of Kubernetes answer to it is part
of this program. Should it ask something else, as with another --image, they are
built, in 3 to 5 minutes on two cores, and the story begins anew. The real control
plane takes 5 to 9 minutes, and then seconds.

With --kubeconfig it uses that cluster, as its current context says, in a
namespace of its own that it deletes at the end, also after Ctrl-C. In a cluster
with real nodes up to 18 Pods really run; they do nothing but wait.

With -o json each line is one JSON object with the fields
    time     seconds since the story began
    kind     as above, or "summary", the last line of a story
    object   what it is about, as kind/name
    action   event: added, updated, deleted; write: the verb;
             reconcile: success, requeue_after, error
    text     what the line says, for people
    cause    of a reconcile: {trigger, object, count}
    code     of the answer to a write
    took     milliseconds, of a reconcile or a write
    error    of a reconcile or a write
    ok       of an expectation: whether it held; of the summary: whether all did
    counts   of the summary: how many lines of each kind there were`,
		Example: `  flyball demo
  flyball demo --real
  flyball demo --once -o json | jq -r 'select(.kind == "write") | .text'`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), checkDemo(&o, output))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.JSON = output == "json"
			o.Out, o.Progress = cmd.OutOrStdout(), cmd.ErrOrStderr()
			o.Colour = colours(o.Out)
			return demo.Run(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.Once, "once", false, "tell the story once")
	fs.StringVarP(&output, "output", "o", "text", "`FORMAT` of the lines: text or json")
	fs.BoolVar(&o.Real, "real", false, "start a real control plane: API server, etcd, controllers, scheduler")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "use the cluster of this `FILE` instead of starting one")
	fs.StringVar(&o.Image, "image", demo.Image, "`IMAGE` of the Pods, for a cluster with real nodes")
	fs.DurationVar(&o.Pace, "pace", 400*time.Millisecond, "`TIME` from one Pod to the next")
	complete(cmd, "output", "text", "json")
	return cmd
}

// checkDemo rejects values that can only be mistakes.
func checkDemo(o *demo.Options, output string) error {
	switch {
	case output != "text" && output != "json":
		return fmt.Errorf("--output %q: there are text and json", output)
	case o.Pace <= 0:
		return fmt.Errorf("--pace %v: the time must be positive", o.Pace)
	case o.Real && o.Kubeconfig != "":
		return errors.New("--real and --kubeconfig: there is one cluster")
	case o.Image == "":
		return errors.New("--image: is empty")
	}
	return nil
}

// colours reports whether out is a terminal that may show colours; see no-color.org.
func colours(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
