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

// fanOut returns how many events per second reach all watchers together. For present one client updates an object as
// fast as it can meanwhile; for past the changes are made before the watches begin. The watchers read the events
// without decoding them, so the figures are about the server.
func fanOut(ctx context.Context, c *contender, o options) (present, past float64, err error) {
	rt, url, err := c.transport()
	if err != nil {
		return 0, 0, err
	}
	const changes = 200
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var ready, ended sync.WaitGroup
	errs := make([]error, o.watchers)
	m := configMap("watched", "first")
	if err := c.client.Create(ctx, m); err != nil {
		return 0, 0, err
	}
	from := fmt.Sprintf("%s/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name=watched&resourceVersion=%s", url, m.ResourceVersion)
	start := func() {
		ready.Add(o.watchers)
		for i := range o.watchers {
			ended.Go(func() {
				began := sync.OnceFunc(ready.Done)
				defer began()
				errs[i] = errors.Join(errs[i], watch(ctx, rt, from, changes, began))
			})
		}
	}
	start()
	ready.Wait()
	begin := time.Now()
	var writes []error
	for n := range changes {
		m.Data["k"] = fmt.Sprint(n)
		writes = append(writes, c.client.Update(ctx, m))
	}
	ended.Wait()
	present = float64(o.watchers*changes) / time.Since(begin).Seconds()
	begin = time.Now()
	start()
	ended.Wait()
	past = float64(o.watchers*changes) / time.Since(begin).Seconds()
	return present, past, errors.Join(append(errs, writes...)...)
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
