package world

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
)

// outageLasts is how long the server cannot be reached in an outage. It is longer than what clients wait between retries,
// and than a leader can do without a renewal, 10 s by default: its term ends. It is shorter than a lease of 15 s, so no
// other program takes that meanwhile. partitionLasts is longer than that, and shorter than what programs take to end after
// the loss.
const (
	outageLasts    = 12 * time.Second
	partitionLasts = 25 * time.Second
)

var errUnreachable = errors.New("connect: connection refused, by a fault of the simulation")

// errMoot ends a run that says nothing.
var errMoot = errors.New("the scenario has become impossible")

// outage makes the server unreachable for a program. Its watches end.
func (w *world) outage(p *process, k plan.Kind) {
	d := outageLasts
	if k == plan.Partition {
		d = partitionLasts
	}
	w.log(laneFault, "the server cannot be reached by %s for %v", p, d)
	p.away = time.Now().Add(d)
	w.over = latest(w.over, p.away)
	if p.now != nil {
		for _, s := range p.now.streams {
			s.end(io.ErrUnexpectedEOF)
		}
	}
}

// early does the next step of the user, if there is one. What the program does from now on is part of that step. A step
// that needs what the program had to do before fails: then the run ends here, and says nothing.
func (w *world) early() {
	if w.acted == len(w.c.Steps) {
		return
	}
	if w.acted == w.step {
		w.step++
		w.open()
	}
	if err := w.act(); err != nil {
		w.log(laneFault, "the user cannot do it yet: %v", err)
		w.moot = true
	}
}

// touch lets somebody else add an annotation to an object, if it is there.
func (w *world) touch(r core.Request) {
	t := r.Target()
	o := w.state.Now().Get(keyOf(t))
	if o == nil {
		return
	}
	url := path(r.URL)
	if t.Subresource != "" {
		url = strings.TrimSuffix(url, "/"+t.Subresource)
	}
	code := w.somebody(http.MethodPatch, url, "application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+judge.Touched+`":"yes"}}}`))
	w.log(laneFault, "somebody else annotates %s → %d", judge.Name(o.Key), code)
}

// somebody makes a request of somebody who is neither the user nor a program. It returns the code of the answer.
func (w *world) somebody(method, url, contentType string, body []byte) int {
	before := w.state.Now()
	a := w.stepWithHooks(core.Request{Method: method, URL: url, ContentType: contentType, Accept: "application/json", UserAgent: "somebody",
		User: core.Administrator.Name, Groups: core.Administrator.Groups, Body: body})
	w.changes(nil, before)
	return a.Code
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
