package flyball

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/ops/serve"
)

// pages are the debug pages of the manager, beside the profiles.
func (m *Manager) pages() []serve.Page {
	return []serve.Page{
		{Path: "/debug/caches", About: "the kinds in the cache, and where their watches stand", Handler: http.HandlerFunc(m.cachesPage)},
		{Path: "/debug/controllers", About: "the controllers and their queues", Handler: http.HandlerFunc(m.controllersPage)},
	}
}

func (m *Manager) cachesPage(w http.ResponseWriter, _ *http.Request) {
	t := table(w, "WATCH", "STATE", "OBJECTS", "REJECTED", "WIRE BYTES", "HELD BYTES", "VERSION")
	watches := m.readiness().Watches()
	for _, name := range slices.Sorted(maps.Keys(watches)) {
		s, held := watches[name].State, watches[name].Figures.Store
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", name, s, s.Objects, s.Rejected, held.Bytes, held.Held, s.Watch.ResourceVersion)
	}
	_ = t.Flush() // an error is one of the connection
}

func (m *Manager) controllersPage(w http.ResponseWriter, _ *http.Request) {
	t := table(w, "CONTROLLER", "STATE", "READY", "DELAYED", "IN FLIGHT", "RUNNING", "LAST ERROR", "WHY")
	controllers := m.controllerSet()
	for _, name := range slices.Sorted(maps.Keys(controllers)) {
		c := controllers[name]
		q, state, why := c.QueueStats(), c.State(), ""
		if state.Err != nil {
			why = state.Err.Error()
		}
		all := c.Reconciles()
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", name, state.Phase, q.Depth, q.Delayed, q.InFlight, line(all.String()), line(lastError(all)), line(why))
	}
	_ = t.Flush()
}

// lastError is why a request is not reconciled yet: "web/a, attempt 3, 5s ago: ...".
func lastError(all controller.Reconciles) string {
	f := all.Failed
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%v, attempt %d, %v ago: %v", f.Request, f.Attempt, time.Since(all.FailedAt).Round(time.Second), f.Err)
}

// line is a text in one line of a table.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

func table(w http.ResponseWriter, columns ...string) *tabwriter.Writer {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, c := range columns {
		fmt.Fprint(t, c, []string{"\t", "\n"}[i/(len(columns)-1)])
	}
	return t
}
