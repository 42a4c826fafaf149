package search

import (
	"slices"
	"strings"

	"github.com/flyball-io/flyball/sim/internal/plan"
)

// The faults that a call or an event can meet, as data. What a server never answers to a call is not in it.
var (
	// callFaults and errors are what every write meets.
	callFaults = []plan.Kind{plan.CrashBefore, plan.CrashAfter, plan.Lost, plan.RequestLost, plan.Outage, plan.Behind, plan.NextStep}
	errors     = []plan.Kind{plan.Forbidden, plan.TooMany, plan.Internal, plan.Unavailable}

	createFaults = slices.Concat(callFaults, errors, []plan.Kind{plan.NotServed, plan.Conflict, plan.Invalid})
	writeFaults  = slices.Concat(callFaults, errors, []plan.Kind{plan.Conflict, plan.Invalid, plan.Touched})
	// A delete has nothing that could be invalid. Without a precondition it meets no conflict.
	deleteFaults  = slices.Concat(callFaults, errors, []plan.Kind{plan.Touched})
	readFaults    = slices.Concat(errors, []plan.Kind{plan.RequestLost, plan.Behind})
	watchFaults   = slices.Concat(readFaults, []plan.Kind{plan.NotServed, plan.Gone})
	listFaults    = slices.Concat(watchFaults, []plan.Kind{plan.Reversed})
	eventFaults   = []plan.Kind{plan.Merge, plan.Late, plan.Silent, plan.Swap, plan.Cut, plan.Expire, plan.CutOff, plan.Revoked, plan.AtOnce}
	lastingFaults = []plan.Kind{plan.Lag, plan.Stale, plan.StaleKind}
	stepFaults    = []plan.Kind{plan.Restart, plan.Hour}
)

// Points are the points of runs without faults.
type Points struct {
	All []plan.Point
	// Steps is the number of steps.
	Steps int
	// Replicas says that several processes of one program run at the same time. One of them holds the lease.
	Replicas bool
	// Hooked has the points at which webhooks are called.
	Hooked map[plan.Point]bool
	// Queued has the programs whose queues a plan can turn round.
	Queued map[string]bool
}

// kindsAt returns the kinds of faults that a point can meet, but for those that last beyond it.
func kindsAt(at plan.Point) []plan.Kind {
	switch {
	case at.Verb == "begin":
		return stepFaults
	case at.Verb == "rest":
		return []plan.Kind{plan.Edited}
	case at.Event():
		return eventFaults
	case at.Verb == "delete" || at.Verb == "deletecollection":
		return deleteFaults
	case at.Verb == "create":
		return createFaults
	case at.Writes():
		return writeFaults
	case at.Verb == "list":
		return listFaults
	case at.Verb == "watch":
		return watchFaults
	}
	return readFaults
}

// faultsAt returns the faults that a point can meet, but for those that last beyond it.
func (p Points) faultsAt(at plan.Point, hooked bool) (out []plan.Fault) {
	for _, k := range kindsAt(at) {
		if k != plan.NextStep || at.Step < p.Steps {
			out = append(out, plan.Fault{Kind: k, At: at})
		}
	}
	if p.Replicas && (at.Writes() || at.Verb == "begin") {
		out = append(out, plan.Fault{Kind: plan.Partition, At: at})
	}
	if at.Verb == "begin" && p.Queued[at.Program] {
		out = append(out, plan.Fault{Kind: plan.LastFirst, At: at})
	}
	if hooked {
		out = append(out, plan.Fault{Kind: plan.HooksAway, At: at})
	}
	return out
}

// Singles returns every single fault, in the order of the points.
func (p Points) Singles() (out []plan.Fault) {
	kinds := map[string]bool{} // resources of events
	for _, at := range p.All {
		if at.Event() {
			resource, _, _ := strings.Cut(at.Object, "/")
			kinds[resource] = true
		}
	}
	for _, at := range p.All {
		out = append(out, p.faultsAt(at, p.Hooked[at])...)
		if !at.Event() {
			continue
		}
		for until := max(1, at.Step); until <= p.Steps; until++ {
			for _, k := range lastingFaults {
				if k == plan.StaleKind && len(kinds) == 1 {
					continue // it is Stale
				}
				out = append(out, plan.Fault{Kind: k, At: at, Until: until})
			}
		}
	}
	return out
}
