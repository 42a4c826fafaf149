// Command rules answers requests of the Kubernetes API without a cluster: the handlers, strategies,
// validation and conversions are those of the real API server, and the objects that a request may see
// come with it. An answer depends on nothing else.
//
//	stdin ──▶ Request: method, URL, body, user, time, objects ──┐
//	                                                             ▼
//	              handlers of k8s.io/apiserver ──▶ registries of k8s.io/kubernetes
//	                                                             │ storage.Interface
//	                                                             ▼
//	stdout ◀── Answer: status, body, writes ◀──────── the objects of one request
//
// Requests are answered as they are done, in any order; the number of a frame joins the two. Several
// stores may share a process. The process ends when its standard input ends.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"
)

func main() {
	klog.LogToStderr(false) // but for errors
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil // they wait between two errors
	capabilities.Setup(true, 0)     // privileged Pods are for admission to refuse
	api, err := newAPI()
	if err == nil {
		err = serve(api, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

// serve answers requests until in ends.
func serve(api *api, in io.Reader, out io.Writer) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	r := bufio.NewReaderSize(in, 1<<16)
	slots := make(chan struct{}, 4*runtime.GOMAXPROCS(0))
	for {
		var req Request
		id, err := ReadFrame(r, &req)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			answer := api.answer(&req)
			mu.Lock()
			defer mu.Unlock()
			// Whoever has gone needs no answer; the next read ends.
			_ = WriteFrame(out, id, answer)
		})
	}
}
