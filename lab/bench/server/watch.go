package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// fanOut measures how many events per second reach all watchers together, and adds the figures to a table. One client
// updates an object as fast as it can, or creates objects, while others watch. Events of the past are those of changes
// that were made before the watches began. Each figure is the median of several runs. The watchers read the events
// without decoding them, so the figures are about the server.
func fanOut(ctx context.Context, c *contender, o options, t *table) error {
	rt, url, err := c.transport()
	if err != nil {
		return err
	}
	const changes = 200
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := configMap("watched", "first")
	if err := c.client.Create(ctx, m); err != nil {
		return err
	}
	// took lets all watchers see the events after a version, makes the changes meanwhile, and returns the time.
	took := func(version, selector string, change func(n int) error) (time.Duration, error) {
		var ready, ended sync.WaitGroup
		errs := make([]error, o.watchers)
		ready.Add(o.watchers)
		begin := time.Now()
		for i := range o.watchers {
			ended.Go(func() {
				began := sync.OnceFunc(ready.Done)
				defer began()
				errs[i] = watch(ctx, rt, fmt.Sprintf("%s/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=%s%s", url, version, selector), changes, began)
			})
		}
		if change != nil {
			ready.Wait()
			begin = time.Now()
			for n := range changes {
				if err := change(n); err != nil {
					return 0, err // stop ends the watches
				}
			}
		}
		ended.Wait()
		return time.Since(begin), errors.Join(errs...)
	}
	// rate adds a figure: that of the median of some runs. Each begins at the version that begin returns.
	const runs = 7
	rate := func(name string, begin func() string, selector string, change func(n int) error) error {
		var all []time.Duration
		for range runs {
			d, err := took(begin(), selector, change)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
		t.set(name, c.name, "1/s", float64(o.watchers*changes)/median(all).Seconds())
		return nil
	}
	const one = "&fieldSelector=metadata.name=watched"
	var before, last string // the versions before the last run of updates, and of the last write
	last = m.ResourceVersion
	if err := rate(caseWatch, func() string { before = last; return last }, one, func(n int) error {
		m.Data["k"] = fmt.Sprint(last, n)
		err := c.client.Update(ctx, m)
		last = m.ResourceVersion
		return err
	}); err != nil {
		return err
	}
	if err := rate(caseHistory, func() string { return before }, one, nil); err != nil {
		return err
	}
	made := 0
	return rate(caseMade, func() string { return last }, "", func(int) error {
		one := configMap(fmt.Sprintf("made-%06d", made), "v")
		made++
		err := c.client.Create(ctx, one)
		last = one.ResourceVersion
		return err
	})
}

// watch reads a number of events of a watch. It calls began when the server has answered.
func watch(ctx context.Context, rt http.RoundTripper, url string, events int, began func()) error {
	body, err := get(ctx, rt, url, "application/json")
	if err != nil {
		return err
	}
	defer body.Close()
	began()
	buffer := make([]byte, 32<<10)
	for events > 0 {
		n, err := body.Read(buffer)
		events -= bytes.Count(buffer[:n], []byte("\n"))
		if err != nil && events > 0 {
			if errors.Is(err, io.EOF) {
				return fmt.Errorf("a watch ended %d events too early", events)
			}
			return err
		}
	}
	return nil
}
