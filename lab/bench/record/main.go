// Command record writes the objects of a real cluster to a file. Command compare takes the file as
// a corpus:
//
//	go run -C lab ./bench/record --kubeconfig ~/.kube/config -o /tmp/cluster.rec
//	go run -C lab ./bench/compare -recorded /tmp/cluster.rec -kind deployments.apps
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyball-io/flyball/lab/bench/command"
	"github.com/flyball-io/flyball/lab/bench/progress"
)

const usage = `Usage: go run -C lab ./bench/record --kubeconfig FILE -o FILE

Lists every kind of a cluster that can be listed, and writes the objects into a file, compressed.
It writes nothing to the cluster and needs no more than list. The data of Secrets is replaced by
zeros, and their annotations are dropped; nothing else is: what is in ConfigMaps, in the
environment of Pods and in custom resources is in the file as it is in the cluster. Only you can
read the file.

Kinds that may not be listed are named and left out.

Flags:
`

func main() {
	command.Main("record", "interrupted; nothing was written", func(ctx context.Context) error {
		return run(ctx, os.Args[1:], os.Stderr)
	})
}

func run(ctx context.Context, args []string, log io.Writer) error {
	f := command.Flags("record", usage, log)
	kubeconfig := f.String("kubeconfig", "", "`file` that names the cluster (default $KUBECONFIG, or ~/.kube/config)")
	name := f.String("context", "", "of the kubeconfig, instead of its current one")
	out := f.String("o", "", "`file` to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("there are no arguments, but %q; see --help", f.Args())
	case *out == "":
		return errors.New("-o: a file to write is missing; see --help")
	}
	cfg, err := config(*kubeconfig, *name)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(*out), ".record-*") // only the user may read it
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	show := progress.New(log)
	err = record(ctx, cfg, file, show.Log)
	show.End()
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), *out)
}

func config(file, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1 // one request after another
	return cfg, nil
}
