// Command server measures the API server in memory beside a real control plane (etcd and kube-apiserver) and beside
// controller-runtime's fake client. It calls all of them by the client of controller-runtime, with the same objects, one
// after the other. The README of this module explains the cases.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flyball-io/flyball/lab/bench/command"
)

func main() {
	command.Main("server", "interrupted", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// options are the values of the command line.
type options struct {
	objects  int
	pods     int
	servers  int
	watchers int
	time     time.Duration
	real     bool
}

const usage = `Usage: go run -C lab ./bench/server [flags]

Measures the API server in memory beside a real control plane and beside
controller-runtime's fake client: creates, reads, updates, lists, watches, and what a
server costs. Both servers are built on first use. It takes about three minutes.

Flags:
`

func parse(args []string, out io.Writer) (o options, err error) {
	f := command.Flags("server", usage, out)
	f.IntVar(&o.objects, "objects", 10_000, "how many objects a list has, and a snapshot")
	f.IntVar(&o.pods, "pods", 100_000, "how many Pods are held when memory is measured")
	f.IntVar(&o.servers, "servers", 1_000, "how many servers are held when memory is measured")
	f.IntVar(&o.watchers, "watchers", 100, "how many watches see each change")
	f.DurationVar(&o.time, "time", 3*time.Second, "how long each case of calls lasts")
	f.BoolVar(&o.real, "real", true, "whether to measure a real control plane")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("there are no arguments, but %q; see -help", f.Args())
	}
	if o.objects < 1 || o.pods < 1 || o.servers < 1 || o.watchers < 1 || o.time <= 0 {
		return o, errors.New("-objects, -pods, -servers, -watchers and -time are at least 1")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	ctrllog.SetLogger(logr.Discard())
	t := &table{}
	contenders := []func(context.Context, io.Writer) (*contender, error){inMemory, overTCP, fakeClient}
	if o.real {
		contenders = append(contenders, controlPlane)
	}
	for _, start := range contenders {
		c, err := start(ctx, log)
		if err != nil {
			return err
		}
		fmt.Fprintln(log, "server: measuring", c.name)
		err = errors.Join(measure(ctx, c, o, t), c.close())
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if err := hold(ctx, o, t, log); err != nil {
		return err
	}
	return t.write(out)
}
