// Command compare measures Flyball beside client-go's informer and controller-runtime's cache. All
// hold the same objects from the same server, in one run, each in its own process, in turn. The
// README beside it explains the cases.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/flyball-io/flyball/lab/bench/command"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/measure"
	"github.com/flyball-io/flyball/lab/bench/progress"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

func main() {
	command.Main("compare", "interrupted", func(ctx context.Context) error {
		return compare(ctx, os.Args[1:], os.Stdout, os.Stderr)
	})
}

// options are the values of the command line.
type options struct {
	setup  measure.Setup
	output string
}

// parse reads the command line.
func parse(args []string, out io.Writer) (o options, err error) {
	s := measure.Defaults()
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprintf(out, usage, strings.Join(measure.Help(), "\n  "))
		f.PrintDefaults()
	}
	f.StringVar(&s.Spec.Kind, "kind", s.Spec.Kind, "what to hold: "+corpus.ClusterKind+", which is all kinds of a cluster; one of them, such as "+corpus.ClusterKind+"/pods; or "+strings.Join(corpus.Kinds(), ", ")+"")
	f.IntVar(&s.Spec.Objects, "objects", s.Spec.Objects, "how many")
	f.IntVar(&s.Spec.Owners, "owners", s.Spec.Owners, "among how many owners they are shared out; a cluster has its own")
	f.BoolVar(&s.Spec.ManagedFields, "managed-fields", s.Spec.ManagedFields, "whether the objects carry managedFields")
	f.Uint64Var(&s.Spec.Seed, "seed", s.Spec.Seed, "of the corpus")
	f.StringVar((*string)(&s.View), "view", "", "how objects are held: typed, unstructured or metadata (default typed; unstructured for custom resources)")
	f.StringVar((*string)(&s.Form), "form", "", "how objects travel: json or protobuf (default protobuf where there is such a form)")
	f.StringVar((*string)(&s.Lists), "lists", string(replay.Streaming), "how lists are answered: streaming, whole or paged")
	f.BoolVar(&s.TLS, "tls", false, "TLS and HTTP/2 instead of HTTP/1.1")
	f.BoolVar(&s.Best, "best", false, "drop managedFields in all contenders, which are else as they are by default")
	f.BoolVar(&s.Keep, "keep-managed-fields", false, "keep managedFields in all contenders: by default Flyball cuts them, and its peers keep them")
	contenders := f.String("contenders", strings.Join(measure.DefaultContenders(), ","), "which, separated by commas: "+strings.Join(contender.Libraries(), ", ")+"; with -typed, -unstructured or -metadata behind it for another view, and -best for the best settings: these are taken through the first process only")
	cases := f.String("cases", "", "which groups of cases, separated by commas (default all)")
	f.IntVar(&s.Runs, "runs", s.Runs, "how often each contender runs, all of them in turn: the figures are medians")
	f.IntVar(&s.Events, "events", s.Events, "how many changes to play flat out")
	f.IntVar(&s.Paced, "paced", s.Paced, "how many changes to play at 2,000 a second")
	f.IntVar(&s.Blocked, "blocked", s.Blocked, "how many events arrive while a handler is blocked")
	f.IntVar(&s.BlockedKeys, "blocked-keys", s.BlockedKeys, "of how many objects these are")
	f.IntVar(&s.Churn, "churn", s.Churn, "how many times every object is deleted and another one made")
	f.IntVar(&s.Keys, "keys", s.Keys, "how many keys the work queue is given")
	f.DurationVar(&s.Settle, "settle", s.Settle, "how long memory has to go back after objects were deleted")
	f.DurationVar(&s.Reading, "reading", s.Reading, "how long to measure each read, three times")
	f.StringVar(&o.output, "o", "table", "table or json")
	f.StringVar(&s.Tapes, "tapes", "", "`folder` of the encoded objects (default in the user's cache folder)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("there are no arguments, but %q; see -help", f.Args())
	case o.output != "table" && o.output != "json":
		return o, fmt.Errorf("-o %q: there are table and json", o.output)
	}
	s.Contenders = strings.Split(*contenders, ",")
	if *cases != "" {
		s.Cases = strings.Split(*cases, ",")
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["owners"] && strings.HasPrefix(s.Spec.Kind, corpus.ClusterKind) {
		return o, fmt.Errorf("-owners: a cluster has its own; name another -kind")
	}
	if s.Tapes, err = replay.Dir(s.Tapes); err != nil {
		return o, err
	}
	o.setup, err = s.Check()
	return o, err
}

const usage = `Usage: go run -C lab ./bench/compare [flags]

Measures Flyball beside client-go's informer and controller-runtime's cache, each as a process of
its own, one after another: for each library a program, which is built first. All run three times, in
turn, and the figures are medians. Without -kind they hold the objects of a whole cluster.

The objects are encoded before, once, which takes some minutes for 100,000. With 100,000 objects a run
of everything takes more than an hour, 5 GB of memory and 2 GB of disk.

Groups of cases:
  %s

Flags:
`

// compare builds the programs, and measures.
func compare(ctx context.Context, args []string, out, log io.Writer) (err error) {
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	show := progress.New(log)
	defer show.End()
	programs, err := measure.Build(ctx, o.setup.Contenders, show.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, programs.Remove()) }()
	return o.compare(ctx, programs, out, show)
}

// compare measures, and prints the figures.
func (o *options) compare(ctx context.Context, programs *measure.Programs, out io.Writer, show *progress.Log) error {
	o.setup.Log = show.Log
	r, err := measure.Run(ctx, programs, o.setup)
	show.End()
	if err != nil {
		return err
	}
	if o.output == "json" {
		return json.NewEncoder(out).Encode(r)
	}
	return r.Table(out)
}
