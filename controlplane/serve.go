package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// stopBound is how long a stop may take. What is cut off then loses
// nothing: etcd's log is written before a request is answered.
const stopBound = 3500 * time.Millisecond

// serve runs the control plane until ctx ends, standard input ends (when it
// is followed), or a component fails; the last is an error.
func serve(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	dir, err := filepath.Abs(o.dataDir)
	if err != nil {
		return err
	}
	if o.kubeconfigOut != "" {
		if o.kubeconfigOut, err = filepath.Abs(o.kubeconfigOut); err != nil {
			return err
		}
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
			_ = os.RemoveAll(dir) // there is nobody left to tell
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
	if err := writeKubeconfig(files, url, o.kubeconfigOut); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", files.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	g := newGroup(cancel)
	// However we end, never later than the bound.
	context.AfterFunc(ctx, func() {
		time.AfterFunc(stopBound, func() {
			klog.Info("Stop took too long, leaving")
			code := 0
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				fmt.Fprintln(os.Stderr, "controlplane:", cause)
				code = 1
			}
			cleanUp()
			os.Exit(code)
		})
	})
	defer func() {
		cancel(nil)
		g.stop()
		if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
	}()

	etcd, err := startEtcd()
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	g.addCloser(etcd.Close)
	g.start("kube-apiserver", apiServer(files, ln))
	if err := awaitReadyz(ctx, client); err != nil {
		return stopped(ctx, err)
	}
	if err := startClients(ctx, g, files, config, client, o.nodes); err != nil {
		return stopped(ctx, err)
	}
	if _, err := fmt.Fprintln(out, "ready:", url); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-commands:
			fmt.Fprintln(out, runCommand(ctx, etcd, line))
		}
	}
}

// startClients starts all that talks to the API server and returns when
// Pods can be created, scheduled and run.
func startClients(ctx context.Context, g *group, files *files, config *rest.Config, client kubernetes.Interface, nodes int) error {
	g.start("kube-controller-manager", controllerManager(files))
	g.start("kube-scheduler", scheduler(files))
	g.start("kwok", kubelets(files, config, client))
	names, err := createNodes(ctx, client, nodes)
	if err != nil {
		return err
	}
	if err := awaitNodes(ctx, client, names); err != nil {
		return err
	}
	return awaitDefaultAccount(ctx, client)
}

// stopped drops the error of a start that was asked to stop: not a failure.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
