package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/apiserver"
)

// hold measures the memory of servers in memory, and their snapshots.
func hold(ctx context.Context, o options, t *table, log io.Writer) (err error) {
	fmt.Fprintln(log, "server: measuring memory")
	options := apiserver.Options{InMemory: true, Progress: log}
	var servers []*apiserver.Server
	closeAll := func() error {
		var errs []error
		for _, s := range servers {
			errs = append(errs, s.Close())
		}
		servers = nil
		return errors.Join(errs...)
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	before := heap()
	for range o.servers {
		s, err := apiserver.New(ctx, options)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	t.set(caseServer, memory, "kB", (heap()-before)/1e3/float64(o.servers))
	runtime.KeepAlive(servers)
	if err := closeAll(); err != nil {
		return err
	}
	s, err := apiserver.New(ctx, options)
	if err != nil {
		return err
	}
	servers = append(servers, s)
	c, err := client.New(s.RESTConfig(), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return err
	}
	before = heap()
	if err := each(ctx, min(o.objects, o.pods), 8, func(i int) error { return c.Create(ctx, pod(fmt.Sprintf("p-%06d", i))) }); err != nil {
		return err
	}
	if err := snapshots(s, t); err != nil {
		return err
	}
	if err := each(ctx, max(0, o.pods-o.objects), 8, func(i int) error { return c.Create(ctx, pod(fmt.Sprintf("p-%06d", o.objects+i))) }); err != nil {
		return err
	}
	t.set(casePods, memory, "MB", (heap()-before)/1e6)
	runtime.KeepAlive(s)
	return nil
}

// snapshots measures Snapshot and Restore.
func snapshots(s *apiserver.Server, t *table) error {
	var snaps, restores []time.Duration
	for range 21 {
		begin := time.Now()
		snap := s.Snapshot()
		snaps = append(snaps, time.Since(begin))
		begin = time.Now()
		s.Restore(snap)
		restores = append(restores, time.Since(begin))
	}
	t.set(caseSnapshot, memory, "ms", float64(median(snaps))/1e6)
	t.set(caseRestore, memory, "ms", float64(median(restores))/1e6)
	return nil
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
