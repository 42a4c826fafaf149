package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// stopBound is how long a stop may take.
const stopBound = 3500 * time.Millisecond

// serve runs the control plane until ctx ends, standard input ends (when it
// is followed), or a component fails; the last is an error.
func serve(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	dir, err := filepath.Abs(o.dataDir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer unlock()
	var orphaned atomic.Bool
	cleanUp := func() {
		if o.temporary && orphaned.Load() {
			// There is nobody left to tell of an error, but etcd may still
			// be writing: more than one attempt.
			for i := 0; i < 5 && os.RemoveAll(dir) != nil; i++ {
			}
		}
	}
	defer cleanUp()
	// Relative names from here on: a socket's name may be no longer than
	// about 100 bytes, wherever the data directory lies.
	if err := os.Chdir(dir); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var commands <-chan string
	if o.followStdin {
		commands = readLines(in, func() { orphaned.Store(true); cancel(nil) })
	}

	files, err := writeCredentials(dir)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	ln, err := listen(o.port, files.port)
	if err != nil {
		return err
	}
	url := "https://" + ln.Addr().String()
	if err := writeKubeconfig(files, url); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", files.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1

	// leave ends the process where it stands. It loses nothing: a request is
	// answered when it is in etcd's log.
	leave := func() {
		cleanUp()
		if err := failure(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "controlplane:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	klog.OsExit = func(code int) {
		if ctx.Err() != nil { // some find it fatal to be stopped
			leave()
		}
		os.Exit(code)
	}
	context.AfterFunc(ctx, func() { time.AfterFunc(stopBound, leave) })

	g := newGroup(cancel)
	etcd, err := startEtcd()
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	g.addCloser(etcd.Close)
	if err := startRest(ctx, g, files, ln, config, o); err != nil {
		cancel(err) // unless we were asked to stop, which then is the reason
		leave()     // what has half started stops badly
	}
	_, err = fmt.Fprintln(out, "ready:", url)
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case line := <-commands:
			_, err = fmt.Fprintln(out, runCommand(ctx, etcd, line))
		}
	}
	cancel(err)
	g.stop()
	return failure(ctx)
}

// failure is why the control plane ended, nil if it was asked to.
func failure(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// startRest starts all but etcd and returns when Pods can be created,
// scheduled and run. If bare is set, it starts the API server alone.
func startRest(ctx context.Context, g *group, files *files, ln net.Listener, config *rest.Config, o options) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	g.start("kube-apiserver", apiServer(files, ln, o))
	if err := awaitReadyz(ctx, client); err != nil || o.bare {
		return err
	}
	g.start("kube-controller-manager", controllerManager(files))
	g.start("kube-scheduler", scheduler(files))
	g.start("kwok", kubelets(files, config, client))
	if err := createClass(ctx, client); err != nil {
		return fmt.Errorf("class %s: %w", standardClass, err)
	}
	g.start("provisioner", provisioner(client))
	names, err := createNodes(ctx, client, o.nodes)
	if err != nil {
		return err
	}
	if err := awaitNodes(ctx, client, names); err != nil {
		return err
	}
	return awaitDefaultAccount(ctx, client)
}
