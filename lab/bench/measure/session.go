package measure

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http/httptest"

	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/replay"
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

	reconciles bool // the contender has a controller on top
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
	n.reconciles = j.Reconcile
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

// job returns the job of a contender, without the address of the server. The objects to read are
// from all over the corpus, of each kind as many as its part of all objects is. The changes delete
// none of them.
func (s Setup) job(name contender.Name, tape *replay.Tape) contend.Job {
	c := s.corpus()
	j := contend.Job{Name: name, Best: s.Best, Keep: s.Keep, First: tape.Version() + 1, Events: s.changes(), Reading: s.Reading}
	for i, r := range c.Resources() {
		j.Kinds = append(j.Kinds, contender.Kind{Resource: r, View: s.view(name, r), ContentType: tape.ContentType(i)})
	}
	j.Objects = make([]int, len(j.Kinds))
	for i := range c.Len() {
		j.Objects[c.KindOf(i)]++
	}
	deleted := map[int]bool{}
	for _, step := range c.Churn(s.changes()).Steps {
		deleted[step.Object] = deleted[step.Object] || step.Deleted
	}
	for n := range min(2*readKeys, c.Len()) {
		i := corpus.Scatter(n, c.Len())
		if deleted[i] || len(j.Keys) == readKeys {
			continue
		}
		o, kind := c.At(i), c.KindOf(i)
		j.Keys = append(j.Keys, contender.Key{Kind: kind, Key: object.KeyOf(o)})
		if v := contender.IndexValue(o); v != "" {
			j.Values = append(j.Values, contend.Value{Kind: kind, Value: v})
		}
		if v := o.GetLabels()[contender.AppLabel]; v != "" {
			j.Labels = append(j.Labels, contend.AppOf{Kind: kind, Namespace: o.GetNamespace(), Value: v})
		}
	}
	return j
}

// readKeys is the number of objects that are read, one after another.
const readKeys = 512

// reached waits until the last event of each kind was handled.
func (n *session) reached() (contend.Report, error) {
	_, last := n.server.Final(0, true)
	return n.ask("reached", last)
}

// handled waits until the last event of each object since an event was handled. Earlier ones may
// have been merged into it. A reconcile does not report the version of a deleted object.
func (n *session) handled(from int) (contend.Report, error) {
	events, last := n.server.Final(from, !n.reconciles)
	return n.ask("handled", []any{last, events})
}

// ask sends a command with an argument in JSON.
func (n *session) ask(command string, arg any) (contend.Report, error) {
	b, err := json.Marshal(arg)
	if err != nil {
		return contend.Report{}, err
	}
	return n.process.ask("%s %s", command, b)
}

// set sets the figure of a case.
func (n *session) set(name string, v float64) { n.figures.values[name] = v }

// setPeak sets a figure that is a peak of RSS in bytes. It also stores the part above an idle
// process.
func (n *session) setPeak(name string, bytes int64) {
	n.set(name, float64(bytes)/1e6)
	n.figures.overIdle[name] = float64(bytes-n.idle.Peak) / 1e6
}
