// Package contend is the process of a contender: it holds objects as its job says, and answers
// commands about them and about its use of resources. Package measure starts it, with a program for
// each library (../programs).
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

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// Main runs a contender with the process's one library, and does not return. It reads jobs and
// writes reports as JSON, on standard input and output.
func Main(lib contender.Library) {
	if err := contend(lib, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "contender:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// held is the contender of this process.
type held struct {
	contender.Contender
	library  contender.Library
	job      Job
	arrivals *arrivals
	ended    context.Context // cancelled by end, with the error of Run
	end      context.CancelCauseFunc
	blocked  atomic.Bool
	idle     int64 // bytes of the heap before the contender held anything
}

// commands are the commands by name. Each gets its argument, and fills in a report.
var commands = map[string]func(h *held, arg string, r *Report) error{
	"usage":    func(*held, string, *Report) error { return nil },
	"sync":     (*held).sync,
	"first":    (*held).first,
	"resident": (*held).resident,
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
	"frames":   (*held).frames,
	"queue":    (*held).queue,
}

// contend runs a job and answers commands, one a line, until its input ends. The end of the input
// ends the process immediately.
func contend(lib contender.Library, in io.Reader, out io.Writer) error {
	// Messages below Error are expected, so they are dropped.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	dec := json.NewDecoder(bufio.NewReader(in))
	var j Job
	if err := dec.Decode(&j); err != nil {
		return err
	}
	h := &held{library: lib, job: j, arrivals: newArrivals(len(j.Kinds), j.First, j.Events)}
	h.ended, h.end = context.WithCancelCause(context.Background())
	o := contender.Options{Kinds: j.Kinds, Best: j.Best, Keep: j.Keep, OnEvent: h.arrivals.record, Reconcile: j.Reconcile}
	o.Config = &rest.Config{Host: j.URL, QPS: -1}
	o.Config.CAData = j.CA
	if j.Blocked {
		o.Blocked = h.pass
	}
	var err error
	if h.Contender, err = lib.Open(j.Name, o); err != nil {
		return err
	}
	if !j.Start {
		h.idle = heap()
	}
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

// sync runs the contender, and polls until it holds the first list: WaitForSync of some contenders
// fails before Run.
func (h *held) sync(string, *Report) error {
	go h.run()
	for {
		if err := h.WaitForSync(h.ended); err == nil {
			return nil
		}
		if err := h.pause(); err != nil {
			return err
		}
	}
}

// first runs the contender, and waits until one object was reconciled.
func (h *held) first(string, *Report) error {
	go h.run()
	return h.arrivals.await(h.ended, 1, nil, func() bool { return h.arrivals.initial.Load() > 0 })
}

// run runs the contender until the process ends.
func (h *held) run() {
	h.end(fmt.Errorf("the contender has ended: %w", h.Run(context.Background())))
}

// frames waits until the transport has read that many frames.
func (h *held) frames(arg string, _ *Report) error {
	var n int64
	if _, err := fmt.Sscan(arg, &n); err != nil {
		return err
	}
	t, ok := h.Contender.(interface{ Frames() int64 })
	if !ok {
		return fmt.Errorf("%s does not count frames", h.library.Name)
	}
	for t.Frames() < n {
		if err := h.pause(); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for a millisecond, or fails when the contender has ended. No program of another library links
// [github.com/flyball-io/flyball/run].
func (h *held) pause() error {
	select {
	case <-h.ended.Done():
		return context.Cause(h.ended)
	case <-time.After(time.Millisecond):
		return nil
	}
}

// settled waits until every handler has seen every object of the first list.
func (h *held) settled(string, *Report) error {
	want := int64(0)
	for _, n := range h.job.Objects {
		want += int64(n)
	}
	if h.job.Blocked {
		want += int64(h.job.Objects[0])
	}
	return h.arrivals.await(h.ended, want, nil, func() bool { return h.arrivals.initial.Load() >= want })
}

// handled waits until the handlers have seen certain events. The argument has a list of the last
// event of each kind, and one of the events.
func (h *held) handled(arg string, _ *Report) error {
	var last, events []int
	if err := json.Unmarshal([]byte(arg), &[]any{&last, &events}); err != nil {
		return err
	}
	for _, k := range events {
		if k >= h.job.Events {
			return fmt.Errorf("the time of event %d is not recorded", k)
		}
	}
	return h.arrivals.await(h.ended, never, h.versions(last), h.arrivals.handled(events))
}

// reached waits until the handler of each kind has seen an event with at least this number.
func (h *held) reached(arg string, _ *Report) error {
	var events []int
	if err := json.Unmarshal([]byte(arg), &events); err != nil {
		return err
	}
	last := h.versions(events)
	return h.arrivals.await(h.ended, never, last, h.arrivals.reached(last))
}

// versions returns the versions of the last event of each kind. A kind without events has 0.
func (h *held) versions(events []int) []int64 {
	all := make([]int64, len(h.job.Kinds))
	for kind, k := range events {
		if k >= 0 {
			all[kind] = int64(h.job.First + k)
		}
	}
	return all
}

// times returns the time of each event's handling.
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

// heap returns the bytes of the Go heap in use, after two collections.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// block makes the blocking handler block from now on.
func (h *held) block(string, *Report) error {
	h.blocked.Store(true)
	return nil
}

// pass is the blocking handler. It counts its calls before it blocks.
func (h *held) pass() {
	if h.blocked.Load() {
		select {}
	}
	h.arrivals.record(0, "0")
}
