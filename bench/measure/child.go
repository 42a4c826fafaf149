package measure

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

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

const childEnv = "FLYBALL_BENCH_CHILD"

// Contend makes this process a contender's if Run has started it as one, and then does not return.
// Every program that calls Run calls it first of all.
func Contend() {
	if os.Getenv(childEnv) == "" {
		return
	}
	if err := contend(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "contender:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// job is what a contender's process is told to hold.
type job struct {
	Name     contender.Name
	Resource corpus.Resource
	View     contender.View
	Best     bool
	Keep     bool
	URL      string
	CA       []byte // of the server, for TLS; then HTTP/2 is spoken
	Type     string // the content type of lists

	Objects int
	First   int // the version that event 0 has
	Events  int // of how many events the times are noted

	Reconcile bool // a controller on top
	Blocked   bool // a handler that will block

	Keys    []object.Key // which objects are read
	Values  []string     // by which values of the index
	Labels  []appOf      // by which labels
	Reading time.Duration
}

// appOf is a namespace and the value of a label.
type appOf struct{ Namespace, Value string }

// report is the answer to a command.
type report struct {
	Error    string
	Usage    usage
	Retained int64 // bytes of the heap after two collections, and outside it, but not those of an idle process
	Times    []byte
	Reads    map[string]read
	NS       float64
}

// held is a contender's process.
type held struct {
	contender.Contender
	job      job
	arrivals *arrivals
	ended    context.Context // by end, with the error of Run
	end      context.CancelCauseFunc
	blocked  atomic.Bool
	idle     int64 // bytes of the heap before anything was held
}

// commands by name. They are given what stands behind it, and fill in a report.
var commands = map[string]func(h *held, arg string, r *report) error{
	"usage":    func(*held, string, *report) error { return nil },
	"sync":     (*held).sync,
	"settled":  (*held).settled,
	"handled":  (*held).handled,
	"reached":  (*held).reached,
	"times":    (*held).times,
	"retained": (*held).retained,
	"gc":       (*held).collect,
	"peak":     func(*held, string, *report) error { return resetPeak() },
	"block":    (*held).block,
	"reads":    (*held).reads,
	"readers":  (*held).readers,
	"queue":    (*held).queue,
}

// contend holds what it is told and answers commands, a line each, until its input ends. That ends
// the process, whatever it does.
func contend(in io.Reader, out io.Writer) error {
	quiet()
	dec := json.NewDecoder(bufio.NewReader(in))
	var j job
	if err := dec.Decode(&j); err != nil {
		return err
	}
	h := &held{job: j, arrivals: newArrivals(j.First, j.Events)}
	h.ended, h.end = context.WithCancelCause(context.Background())
	o := contender.Options{Resource: j.Resource, View: j.View, Best: j.Best, Keep: j.Keep, OnEvent: h.arrivals.tell, Reconcile: j.Reconcile}
	o.Config = &rest.Config{Host: j.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: j.Type, AcceptContentTypes: j.Type}}
	o.Config.CAData = j.CA
	if j.Blocked {
		o.Blocked = h.pass
	}
	var err error
	if h.Contender, err = contender.New(j.Name, o); err != nil {
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
		var r report
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

// quiet has nobody log what is meant to happen here.
func quiet() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
}

// sync runs the contender, and asks until the first list is there: not all can be waited for before
// they have been started.
func (h *held) sync(string, *report) error {
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
func (h *held) settled(string, *report) error {
	want := int64(h.job.Objects)
	if h.job.Blocked {
		want *= 2
	}
	return h.arrivals.await(h.ended, func() bool { return h.arrivals.initial.Load() >= want })
}

// handled waits until all events from one to before another have been.
func (h *held) handled(arg string, _ *report) error {
	var from, to int
	if _, err := fmt.Sscan(arg, &from, &to); err != nil {
		return err
	}
	return h.arrivals.await(h.ended, h.arrivals.handled(from, to))
}

// reached waits until an event has been handled that has at least this number.
func (h *held) reached(arg string, _ *report) error {
	var n int64
	if _, err := fmt.Sscan(arg, &n); err != nil {
		return err
	}
	n += int64(h.job.First)
	return h.arrivals.await(h.ended, func() bool { return h.arrivals.highest.Load() >= n })
}

// times are when each event was handled.
func (h *held) times(_ string, r *report) error {
	r.Times = h.arrivals.encode()
	return nil
}

func (h *held) retained(_ string, r *report) error {
	r.Retained = heap() - h.idle + h.Held()
	return nil
}

func (h *held) collect(string, *report) error {
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
