package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// job is what a contender's process is told to hold.
type job struct {
	Name    string
	URL     string
	CA      []byte // of the server, for TLS; then HTTP/2 is spoken
	Type    string // the content type of lists
	Spec    corpus.Spec
	Best    bool
	FirstRV int // the version that event 0 has
	Events  int // how many there will be at most
	Reading time.Duration
}

// usage is what a process has taken since it began.
type usage struct {
	CPU    float64 // seconds
	GCCPU  float64 // seconds, of it in the garbage collector
	Allocs uint64
	At     int64 // nanoseconds of the wall clock
}

// report is the answer to a command.
type report struct {
	Error    string
	Usage    usage
	Peak     int // bytes of RSS at most, since the process began
	RSS      int
	Retained int // bytes of the heap after two collections, and outside it
	Reads    map[string]read
}

// read is the cost of one read.
type read struct{ NS, Allocs, Bytes float64 }

// child runs a contender and answers commands, a line each, until its input ends.
func child(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return io.ErrUnexpectedEOF
	}
	var j job
	if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
		return err
	}
	var seen atomic.Int64
	times := make([]int64, j.Events)
	more := make(chan struct{}, 1)
	cfg := &rest.Config{Host: j.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: j.Type, AcceptContentTypes: j.Type}}
	cfg.CAData = j.CA
	c, err := contender.New(j.Name, contender.Options{Config: cfg, Spec: j.Spec, Best: j.Best, OnEvent: func(version string) {
		now := time.Now().UnixNano()
		if n, _ := strconv.Atoi(version); n >= j.FirstRV && n < j.FirstRV+len(times) {
			times[n-j.FirstRV] = now
		}
		seen.Add(1)
		select {
		case more <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	defer func() { cancel(); <-ended }()
	answer := json.NewEncoder(out)
	begun := false
	for lines.Scan() {
		command, arg, _ := strings.Cut(lines.Text(), " ")
		var r report
		var err error
		switch command {
		case "sync":
			begun = true
			go func() { ended <- c.Run(ctx) }()
			err = waitForSync(ctx, c, ended)
		case "seen": // wait until so many events have been handled
			n, _ := strconv.Atoi(arg)
			for seen.Load() < int64(n) {
				<-more
			}
		case "times": // write when each event was handled
			err = os.WriteFile(arg, encodeTimes(times), 0o644)
		case "retained":
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			r.Retained = int(m.HeapAlloc) + c.Held()
		case "gc":
			runtime.GC()
		case "reads":
			r.Reads, err = reads(c, j)
		case "usage":
		default:
			err = fmt.Errorf("command %q", command)
		}
		if err != nil {
			r.Error = err.Error()
		}
		r.Usage, r.Peak, r.RSS = used()
		if err := answer.Encode(r); err != nil {
			return err
		}
	}
	if !begun {
		ended <- nil
	}
	return lines.Err()
}

// waitForSync asks until the first list is there: not all contenders can be waited for before they
// have been started.
func waitForSync(ctx context.Context, c contender.Contender, ended chan error) error {
	for {
		if err := c.WaitForSync(ctx); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("ended before it had synced: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
}

func encodeTimes(times []int64) []byte {
	var b []byte
	for _, t := range times {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	return b
}

// used is what this process has taken so far.
func used() (u usage, peak, rss int) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		u.CPU = seconds(ru.Utime) + seconds(ru.Stime)
	}
	u.GCCPU, u.Allocs = collector()
	u.At = time.Now().UnixNano()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kb int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			peak = kb << 10
		}
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			rss = kb << 10
		}
	}
	return u, peak, rss
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// reads measures each read over keys from all over the corpus.
func reads(c contender.Contender, j job) (map[string]read, error) {
	var keys []object.Key
	var values []string
	for n := range 512 {
		o := j.Spec.At(n * 7919 % j.Spec.Objects)
		keys = append(keys, object.Key{Namespace: o.GetNamespace(), Name: o.GetName()})
		values = append(values, contender.IndexValue(o))
	}
	all := map[string]read{}
	for name, f := range map[string]func(i int) error{
		"get":    func(i int) error { return c.Get(keys[i%len(keys)]) },
		"header": func(i int) error { return c.Header(keys[i%len(keys)]) },
		"list": func(i int) error {
			n, err := c.ByIndex(values[i%len(values)])
			if err == nil && n == 0 {
				err = fmt.Errorf("nothing for %q", values[i%len(values)])
			}
			return err
		},
	} {
		r, err := measure(j.Reading, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = r
	}
	return all, nil
}

// measure runs f for that long, three times, and takes the middle.
func measure(long time.Duration, f func(i int) error) (read, error) {
	var rounds []read
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began, n := time.Now(), 0
		for ; n < 16 || time.Since(began) < long; n++ {
			if err := f(n); err != nil {
				return read{}, err
			}
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		rounds = append(rounds, read{float64(took.Nanoseconds()) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)})
	}
	return middle(rounds, func(r read) float64 { return r.NS }), nil
}
