// Package contend is a contender's process: it holds what it is told, and answers commands about it
// and about what it takes. Package measure starts it, a program for each library (../programs).
//
//	measure ── Job, then commands: sync, settled, retained, reads, … ──► Main ── HTTP ──► replay server
//	   ▲                                                                  │
//	   └───────────────── Reports: CPU, bytes, times ◄────────────────────┘
package contend

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/bench/contender"
)

// Main makes this process a contender's, with the one library that it has, and does not return.
// Jobs and reports are JSON, on standard input and output.
func Main(lib contender.Library) {
	if err := contend(lib, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "contender:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// held is a contender's process.
type held struct {
	contender.Contender
	library  contender.Library
	job      Job
	arrivals *arrivals
	ended    context.Context // by end, with the error of Run
	end      context.CancelCauseFunc
	blocked  atomic.Bool
	idle     int64 // bytes of the heap before anything was held
}

// commands by name. They are given what stands behind it, and fill in a report.
var commands = map[string]func(h *held, arg string, r *Report) error{
	"usage":    func(*held, string, *Report) error { return nil },
	"sync":     (*held).sync,
	"settled":  (*held).settled,
	"handled":  (*held).handled,
	"reached":  (*held).reached,
	"times":    (*held).times,
	"retained": (*held).retained,
	"gc":       (*held).collect,
	"peak":     func(*held, string, *Report) error { return resetPeak() },
	"block":    (*held).block,
	"reads":    (*held).reads,
	"readers":  (*held).readers,
	"queue":    (*held).queue,
}

// contend holds what it is told and answers commands, a line each, until its input ends. That ends
// the process, whatever it does.
func contend(lib contender.Library, in io.Reader, out io.Writer) error {
	// What would be told of is meant to happen.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	dec := json.NewDecoder(bufio.NewReader(in))
	var j Job
	if err := dec.Decode(&j); err != nil {
		return err
	}
	h := &held{library: lib, job: j, arrivals: newArrivals(j.First, j.Events)}
	h.ended, h.end = context.WithCancelCause(context.Background())
	o := contender.Options{Resource: j.Resource, View: j.View, Best: j.Best, Keep: j.Keep, OnEvent: h.arrivals.tell, Reconcile: j.Reconcile}
	o.Config = &rest.Config{Host: j.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: j.Type, AcceptContentTypes: j.Type}}
	o.Config.CAData = j.CA
	if j.Blocked {
		o.Blocked = h.pass
	}
	var err error
	if h.Contender, err = lib.Open(j.Name, o); err != nil {
		return err
	}
	h.idle = heap()
	lines := make(chan string)
	go func() {
		for {
			var line string
			if err := dec.Decode(&line); err != nil {
				os.Exit(0)
			}
			lines <- line
		}
	}()
	answer := json.NewEncoder(out)
	for line := range lines {
		command, arg, _ := strings.Cut(line, " ")
		var r Report
		if f := commands[command]; f == nil {
			r.Error = fmt.Sprintf("command %q", command)
		} else if err := f(h, arg, &r); err != nil {
			r.Error = fmt.Sprintf("%s: %s", command, err)
		}
		r.Usage = used()
		if err := answer.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// sync runs the contender, and asks until the first list is there: not all can be waited for before
// they have been started.
func (h *held) sync(string, *Report) error {
	go func() { h.end(fmt.Errorf("the contender has ended: %w", h.Run(context.Background()))) }()
	for {
		if err := h.WaitForSync(h.ended); err == nil {
			return nil
		}
		select {
		case <-h.ended.Done():
			return context.Cause(h.ended)
		case <-time.After(time.Millisecond):
		}
	}
}

// settled waits until every handler was told of every object of the first list.
func (h *held) settled(string, *Report) error {
	want := int64(h.job.Objects)
	if h.job.Blocked {
		want *= 2
	}
	return h.arrivals.await(h.ended, want, never, func() bool { return h.arrivals.initial.Load() >= want })
}

// handled waits until all events from one to before another have been.
func (h *held) handled(arg string, _ *Report) error {
	var from, to int
	if _, err := fmt.Sscan(arg, &from, &to); err != nil {
		return err
	}
	return h.arrivals.await(h.ended, never, int64(h.job.First+to-1), h.arrivals.handled(from, to))
}

// reached waits until an event has been handled that has at least this number.
func (h *held) reached(arg string, _ *Report) error {
	var n int64
	if _, err := fmt.Sscan(arg, &n); err != nil {
		return err
	}
	n += int64(h.job.First)
	return h.arrivals.await(h.ended, never, n, func() bool { return h.arrivals.highest.Load() >= n })
}

// times are when each event was handled.
func (h *held) times(_ string, r *Report) error {
	r.Times = h.arrivals.encode()
	return nil
}

func (h *held) retained(_ string, r *Report) error {
	r.Retained = heap() - h.idle + h.Held()
	return nil
}

func (h *held) collect(string, *Report) error {
	runtime.GC()
	return nil
}

// heap is what is in use of the Go heap, after two collections.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// block has the handler block from now on.
func (h *held) block(string, *Report) error {
	h.blocked.Store(true)
	return nil
}

// pass is that handler. It counts what it is called with before that.
func (h *held) pass() {
	if h.blocked.Load() {
		select {}
	}
	h.arrivals.tell("0")
}
