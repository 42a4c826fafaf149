// Command controlplane is a whole Kubernetes control plane in one process,
// for tests, demonstrations and benchmarks: no containers, no root, nothing
// installed, nothing reachable from outside this machine.
//
//	etcd ◀── kube-apiserver ◀──┬── kube-controller-manager
//	 (unix socket)  (loopback) ├── kube-scheduler
//	                           ├── kwok (plays the kubelets of the nodes)
//	                           └── provisioner (makes the volumes of the default class)
//
// Pods are scheduled and become Running, but no container ever runs.
//
// # Protocol
//
// Standard output carries one line for each thing that happened and nothing
// else; logs go to standard error:
//
//	ready: https://127.0.0.1:PORT   /readyz answers, nodes are Ready, the
//	                                default service account exists
//	compacted: REVISION             answer to the command "compact"
//	error: TEXT                     answer to a command that failed
//
// With --follow-stdin the process reads commands, one a line, from standard
// input and stops when standard input ends, so that it never outlives the
// process that started it, however that one died. With --temporary it then
// takes its data directory with it.
//
// SIGTERM, SIGINT and SIGHUP stop it within five seconds, with exit status 0.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// options are the command line flags.
type options struct {
	dataDir      string
	port         int
	nodes        int
	followStdin  bool
	temporary    bool
	bare         bool
	featureGates string
}

func main() {
	opts, err := parseFlags(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(2)
	}
	// The reader of our output may have exited before we clean up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	context.AfterFunc(ctx, restore) // a second signal ends us at once

	err = serve(ctx, opts, os.Stdin, os.Stdout)
	klog.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

// parseFlags reads and checks the command line. Usage goes to w.
func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	fs.SetOutput(w)
	fs.StringVar(&o.dataDir, "data-dir", "", "`directory` for etcd's data, certificates, the port and the administrator's kubeconfig; made if missing; required")
	fs.IntVar(&o.port, "port", 0, "loopback `port` of the API server; 0 takes the one this data directory had before, else any free one")
	fs.IntVar(&o.nodes, "nodes", 1, "`number` of nodes")
	fs.BoolVar(&o.bare, "bare", false, "run etcd and the API server alone, without admission of service accounts, as envtest does")
	fs.StringVar(&o.featureGates, "feature-gates", "", "feature `gates` of the API server, as in NAME=true,NAME=false")
	fs.BoolVar(&o.followStdin, "follow-stdin", false, "read commands from standard input and stop when it ends")
	fs.BoolVar(&o.temporary, "temporary", false, "remove the data directory when standard input has ended; needs --follow-stdin")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.dataDir == "":
		return o, errors.New("--data-dir is required")
	case o.port < 0 || o.port > 65535:
		return o, fmt.Errorf("--port %d: not a port number", o.port)
	case o.temporary && !o.followStdin:
		return o, errors.New("--temporary needs --follow-stdin")
	case o.nodes < 0:
		return o, fmt.Errorf("--nodes %d: must not be negative", o.nodes)
	}
	return o, nil
}
