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

// fanOut returns how many events a second reach watchers, all of them together: when one client updates an object as
// fast as it can, and when the changes have been made before the watchers ask for them. The watchers read the events,
// and decode nothing: what is measured is the server.
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

// watch reads so many events of a watch. It calls began when the server has answered.
func watch(ctx context.Context, rt http.RoundTripper, url string, events int, began func()) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	began()
	buffer := make([]byte, 32<<10)
	for events > 0 {
		n, err := resp.Body.Read(buffer)
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
