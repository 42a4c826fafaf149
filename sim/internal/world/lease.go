package world

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/judge"
)

const leases = "leases.coordination.k8s.io"

// lease is a Lease and the run of a program that holds it.
type lease struct {
	holder string       // the identity
	by     *incarnation // nil: nobody, or somebody who is no program of the scenario
	since  time.Time
}

// elects notes who holds a Lease after a write. A program that writes an identity into it claims it for itself.
func (w *world) elects(by *incarnation, key string) {
	holder := ""
	if o := w.state.Now().Get(key); o != nil {
		holder = holderOf(o)
	}
	if w.leases[key].holder == holder {
		return
	}
	l := lease{holder: holder, since: time.Now()}
	if holder != "" {
		l.by = by
	}
	if by != nil {
		by.claimed[key] = true
		w.log(laneWorld, "%s %s the lease %s", by.process, map[bool]string{true: "gives back", false: "takes"}[holder == ""], strings.TrimPrefix(judge.Name(key), leases+"/"))
	}
	w.leases[key] = l
}

func holderOf(o *core.Object) string {
	var l struct {
		Spec struct{ HolderIdentity string }
	}
	if json.Unmarshal(o.JSON, &l) != nil {
		return "" // the rules write JSON
	}
	return l.Spec.HolderIdentity
}

// fenced alarms if a program makes a write that it must not make: it has had a lease, and it has begun the write after it
// had lost or given back all of them. A lease is lost when its Lease names another holder or none, not when its time is
// over.
func (w *world) fenced(c *call) {
	if len(c.from.claimed) == 0 || strings.Contains(c.req.URL, "dryRun=") {
		return
	}
	now := ""
	for _, key := range slices.Sorted(maps.Keys(c.from.claimed)) {
		l := w.leases[key]
		if l.by == c.from || !c.begun.After(l.since) {
			return
		}
		now = "nobody holds it"
		if l.by != nil {
			now = l.by.process.String() + " holds it"
		}
	}
	w.alarm("%s makes the call %s %s after it has lost its lease; now %s", c.from.process, c.at.Verb, c.at.Object, now)
}
