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
//
// With -listen the standard input is the listener of a unix socket instead. Clients that connect send and receive the
// same frames. The process ends when there has been no client for a while.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"
)

// collectAt is the growth of the heap, in percent, that starts a garbage collection. There is one process for all tests
// of a user, and the default would take a fifth of its time. Near memoryLimit, in bytes, garbage is collected more
// often.
const (
	collectAt   = 200
	memoryLimit = 1 << 30
)

func main() {
	socket := flag.String("listen", "", "serve the clients of the unix `socket` whose listener is the standard input")
	idle := flag.Duration("idle", 10*time.Second, "how long to wait for another client of the socket")
	frame := flag.Int("frame", MaxFrame, "the most `bytes` of a frame")
	flag.Parse()
	debug.SetGCPercent(collectAt)
	debug.SetMemoryLimit(memoryLimit)
	klog.LogToStderr(false) // but for errors
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil // they wait between two errors
	capabilities.Setup(true, 0)     // privileged Pods are for admission to refuse
	if err := run(*socket, *idle, *frame); err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

func run(socket string, idle time.Duration, frame int) error {
	api, err := newAPI()
	if err != nil {
		return err
	}
	p := newProgram(api.answer, frame)
	if socket != "" {
		return p.listen(socket, idle)
	}
	return p.serve(os.Stdin, os.Stdout)
}
