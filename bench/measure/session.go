package measure

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http/httptest"

	"github.com/flyball-io/flyball/bench/contend"
	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/replay"
	"github.com/flyball-io/flyball/object"
)

// session is one process of a contender, with its own server.
type session struct {
	setup   Setup
	name    contender.Name
	tape    *replay.Tape
	server  *replay.Server
	process *process
	figures *figures
	idle    contend.Usage // of the process before it holds anything
	peak    int64         // of RSS, before the first resetPeak
	close   func() error
}

// figures are those of one contender, by the names of the cases.
type figures struct {
	values   map[string]float64
	overIdle map[string]float64
}

// open starts the process of a program, and a server. change may change the job first.
func open(ctx context.Context, program string, s Setup, name contender.Name, tape *replay.Tape, f *figures, change func(*contend.Job)) (*session, error) {
	n := &session{setup: s, name: name, tape: tape, figures: f, server: replay.NewServer(s.Lists, tape)}
	h := httptest.NewUnstartedServer(n.server)
	j := s.job(name, tape)
	if s.TLS {
		h.EnableHTTP2 = true
		h.StartTLS()
		j.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	} else {
		h.Start()
	}
	j.URL = h.URL
	if change != nil {
		change(&j)
	}
	stop := func() {
		h.CloseClientConnections()
		h.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	var err error
	if n.process, err = start(ctx, program, j); err != nil {
		cancel()
		stop()
		return nil, err
	}
	n.close = func() error {
		defer cancel()
		defer stop()
		return n.process.end()
	}
	idle, err := n.process.ask("usage")
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	n.idle = idle.Usage
	return n, nil
}

// job returns the job of a contender, without the address of the server.
func (s Setup) job(name contender.Name, tape *replay.Tape) contend.Job {
	view, _ := s.of(name)
	c := s.corpus()
	j := contend.Job{
		Name: name, Resource: c.Resource(), View: view, Best: s.Best, Keep: s.Keep, Type: tape.ContentType(),
		Objects: c.Len(), First: tape.Version() + 1, Events: s.changes(), Reading: s.Reading,
	}
	for n := range 512 {
		o := c.At(n * 7919 % c.Len())
		j.Keys = append(j.Keys, object.Key{Namespace: o.GetNamespace(), Name: o.GetName()})
		if v := contender.IndexValue(o); v != "" {
			j.Values = append(j.Values, v)
		}
		if v := o.GetLabels()[contender.AppLabel]; v != "" {
			j.Labels = append(j.Labels, contend.AppOf{Namespace: o.GetNamespace(), Value: v})
		}
	}
	return j
}

// set sets the figure of a case.
func (n *session) set(name string, v float64) { n.figures.values[name] = v }

// setPeak sets a figure that is a peak of RSS in bytes. It also stores the part above an idle
// process.
func (n *session) setPeak(name string, bytes int64) {
	n.set(name, float64(bytes)/1e6)
	n.figures.overIdle[name] = float64(bytes-n.idle.Peak) / 1e6
}
