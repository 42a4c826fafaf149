package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/bench/replay"
)

// setup is what a run compares.
type setup struct {
	spec        corpus.Spec
	form        replay.Form
	tls, best   bool
	flat, paced int
	contenders  []string
	reading     time.Duration // how long each read is measured, three times
}

const pace = 2000 // events a second

// run measures each contender and puts the results side by side.
func run(ctx context.Context, s setup, dir string) (*results, error) {
	dir, err := tapeDir(dir)
	if err != nil {
		return nil, err
	}
	all := newResults(s)
	for _, name := range s.contenders {
		form := s.form
		if contender.Metadata(name) {
			form = replay.MetadataProtobuf
		}
		tape, err := replay.Record(ctx, dir, s.spec, replay.Plan{Events: s.flat + s.paced}, form, func(done, of int) {
			fmt.Fprintf(os.Stderr, "\rrecording %d of %d", done, of)
			if done == of {
				fmt.Fprintln(os.Stderr)
			}
		})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", name)
		cases, err := measureOne(ctx, s, name, tape)
		tape.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all.add(name, cases)
	}
	return all, nil
}

// process is a contender's.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

func start(ctx context.Context, j job) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0])}
	p.cmd.Env = append(os.Environ(), childEnv+"=1")
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(bufio.NewReader(out))
	return p, json.NewEncoder(p.in).Encode(j)
}

func (p *process) ask(format string, args ...any) (report, error) {
	var r report
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		return r, err
	}
	if err := p.answers.Decode(&r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

func (p *process) end() error {
	p.in.Close()
	return p.cmd.Wait()
}

// measureOne takes one contender through everything.
func measureOne(ctx context.Context, s setup, name string, tape *replay.Tape) (cases map[string]float64, err error) {
	server := replay.NewServer(tape)
	h := httptest.NewUnstartedServer(server)
	j := job{Name: name, Type: tape.ContentType(), Spec: s.spec, Best: s.best, FirstRV: s.spec.Version() + 1, Events: s.flat + s.paced, Reading: s.reading}
	if s.tls {
		h.EnableHTTP2 = true
		h.StartTLS()
		j.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	} else {
		h.Start()
	}
	defer h.Close()
	defer h.CloseClientConnections()
	j.URL = h.URL
	p, err := start(ctx, j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()

	m := map[string]float64{}
	before, err := p.ask("usage")
	if err != nil {
		return nil, err
	}
	synced, err := p.ask("sync")
	if err != nil {
		return nil, err
	}
	took(m, before.Usage, synced.Usage)
	m["peak memory until synced"] = float64(synced.Peak)
	retained, err := p.ask("retained")
	if err != nil {
		return nil, err
	}
	m["retained per object"] = float64(retained.Retained) / float64(max(1, s.spec.Objects))
	forced, err := p.ask("gc")
	if err != nil {
		return nil, err
	}
	m["forced collection, CPU"] = 1000 * (forced.Usage.CPU - retained.Usage.CPU)

	if s.flat > 0 {
		before, err := p.ask("usage")
		if err != nil {
			return nil, err
		}
		if err := server.Play(ctx, s.flat, 0); err != nil {
			return nil, err
		}
		after, err := p.ask("seen %d", s.flat)
		if err != nil {
			return nil, err
		}
		n := float64(s.flat)
		m["CPU per event, flat out"] = 1e6 * (after.Usage.CPU - before.Usage.CPU) / n
		m["events per second, flat out"] = n / (float64(after.Usage.At-before.Usage.At) / 1e9)
		m["allocations per event, flat out"] = float64(after.Usage.Allocs-before.Usage.Allocs) / n
	}
	if s.paced > 0 {
		sent, err := server.PlayTimed(ctx, s.paced, pace)
		if err != nil {
			return nil, err
		}
		if _, err := p.ask("seen %d", s.flat+s.paced); err != nil {
			return nil, err
		}
		lags, err := lags(p, sent, s.flat)
		if err != nil {
			return nil, err
		}
		m["event to handler at 2,000/s, p50"], m["event to handler at 2,000/s, p99"] = quantile(lags, 0.5), quantile(lags, 0.99)
	}
	if !contender.Metadata(name) {
		r, err := p.ask("reads")
		if err != nil {
			return nil, err
		}
		for name, r := range r.Reads {
			m["read: "+name] = r.NS / 1000
			m["read: "+name+", allocations"] = r.Allocs
		}
	}
	return m, nil
}

func took(m map[string]float64, before, after usage) {
	m["CPU until synced"] = after.CPU - before.CPU
	m["time until synced"] = float64(after.At-before.At) / 1e9
	m["allocations until synced"] = float64(after.Allocs - before.Allocs)
	m["collector's CPU until synced"] = after.GCCPU - before.GCCPU
}

// lags are how many microseconds passed between the sending of each event and its handling, sorted.
func lags(p *process, sent []time.Time, first int) ([]float64, error) {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "times")
	if _, err := p.ask("times %s", name); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []float64
	for i, t := range sent {
		at := int64(binary.LittleEndian.Uint64(b[8*(first+i):]))
		if at == 0 {
			return nil, fmt.Errorf("event %d was never handled", first+i)
		}
		all = append(all, float64(at-t.UnixNano())/1000)
	}
	slices.Sort(all)
	return all, nil
}
