package flyball

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/readiness"
	"github.com/flyball-io/flyball/ops/probe"
)

// Reasons say to whom the probes show why a check fails. Everybody sees the names of the checks and which of
// them fail. The log has every reason.
type Reasons int

const (
	// ReasonsOnLoopback shows them if the probes are served on loopback alone.
	ReasonsOnLoopback Reasons = iota
	// ReasonsShown shows them to everybody who can reach the probes.
	ReasonsShown
	// ReasonsWithheld writes them to the log only.
	ReasonsWithheld
)

var reasonsNames = [...]string{"loopback", "shown", "withheld"}

// String is the value of the flag --probe-reasons: "loopback", "shown" or "withheld".
func (r Reasons) String() string {
	if r < 0 || int(r) >= len(reasonsNames) {
		return fmt.Sprintf("reasons %d", int(r))
	}
	return reasonsNames[r]
}

// Set implements flag.Value.
func (r *Reasons) Set(s string) error {
	i := slices.Index(reasonsNames[:], s)
	if i < 0 {
		return fmt.Errorf("%q is none of %s", s, strings.Join(reasonsNames[:], ", "))
	}
	*r = Reasons(i)
	return nil
}

// withheld reports whether probes at an address hide the reasons. Without an address the program may serve
// them itself, and they are shown.
func (r Reasons) withheld(addr string) bool {
	return r == ReasonsWithheld || r == ReasonsOnLoopback && addr != "" && !isLoopback(addr)
}

// probeAge is how long the probes repeat an answer, so that requests cost one answer a second at most. A
// change of the phases or controllers ends it early; see Manager.changed.
const probeAge = time.Second

// probes are the checks behind /healthz and /readyz.
type probes struct{ health, ready *probe.Set }

func (m *Manager) newProbes() (err error) {
	o := probe.Options{Logger: m.logger, MaxAge: probeAge, Withhold: m.o.ProbeReasons.withheld(m.o.Probes.Addr)}
	p := &m.probes
	if p.health, err = probe.New("healthz", o); err != nil {
		return err
	}
	if p.ready, err = probe.New("readyz", o); err != nil {
		return err
	}
	fixed := map[string]probe.Check{"manager": func(context.Context) error { return m.life.Ready() }}
	if m.elector != nil {
		fixed["lease"] = m.checkLease
	}
	for name, check := range fixed {
		if _, err := p.ready.Add(name, check); err != nil {
			return err
		}
	}
	for name, group := range map[string]probe.Group{"caches": m.readiness().Caches, "controllers": m.readiness().ControllerChecks} {
		if _, err := p.ready.AddGroup(name, group); err != nil {
			return err
		}
	}
	m.life.Changed = m.changed
	return nil
}

// changed drops the repeated answer: the next probe runs the checks.
func (m *Manager) changed() { m.probes.ready.Forget() }

// checkLease passes on the leader, and on a standby that can read the lease.
func (m *Manager) checkLease(context.Context) error { return m.files.explain(m.elector.State().Err) }

// Health has the checks of /healthz and /livez: a failure means that the process must be restarted. It is
// empty at first, and passes if the process answers. Add checks for failures that do not end by waiting.
func (m *Manager) Health() *probe.Set { return m.probes.health }

// Ready has the checks of /readyz. Add the other conditions under which this program can work. At first it has
//
//	manager                  all phases have started, and none was told to stop
//	lease                    the lease can be read and renewed; a standby is ready, too
//	certificate:SERVER       the certificate is valid, and can be renewed or reloaded
//	cache:RESOURCE.GROUP     the kind has synced and follows the server; :NAMESPACE, :metadata or :2
//	                         is appended where several watches need to be told apart
//	cache:CLUSTER:…          the same for a cluster of [Manager.Cluster]
//	controller:NAME          the sources of a controller that runs here have synced, in all namespaces and
//	                         clusters, and none of them has failed for five minutes; see
//	                         controller.SyncError and controller.FailingError
//
// Some failures are excused, since API servers call the webhooks of ready replicas only; the verbose answer
// names them. A kind that the webhooks of this program convert is excused while the API server cannot list
// it: the list may need the conversion. A controller that waits for such a kind is excused, too. A refusal
// for lack of permission is not excused; see [Manager.HandleConversion]. A kind that the server does not serve is
// excused if a source of a controller is optional for it; see [controller.Source.Optional]. Webhooks work without the sources of
// controllers and without further clusters. So a program that serves webhooks excuses controllers whose sources
// fail, kinds of a further cluster, and controllers that wait for one. Failing reconciles do not affect
// readiness.
//
// A check of a lease or a cache that fails says also that the kubeconfig has changed since it was read.
//
// The checks of caches and controllers come and go with them. A check that the program adds replaces one of
// the same name. Excluding "caches" or "controllers" leaves out all checks of that sort. Over HTTP an answer is repeated
// for a second, or until a phase or a controller starts or ends.
func (m *Manager) Ready() *probe.Set { return m.probes.ready }

// readiness is what tells whether the caches and controllers are in order.
func (m *Manager) readiness() readiness.Program {
	return readiness.Program{
		Clusters: func() (all []readiness.Cluster) {
			for _, c := range m.allClusters() {
				all = append(all, readiness.Cluster{Name: c.cluster, Watches: c.cache.Watches, Explain: c.files.explain})
			}
			return all
		},
		Controllers: m.controllerSet,
		Serves:      func() bool { return m.Addrs().Webhooks != nil },
		Converts:    m.webhooks.converts,
	}
}

// controllerSet is a copy of the controllers by name.
func (m *Manager) controllerSet() map[string]readiness.Controller {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.controllers)
}

// handler serves the probes of a manager.
func (p *probes) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	p.health.Mount(mux)
	for _, path := range []string{"/livez", "/livez/"} { // an alias of /healthz
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			r2 := r.Clone(r.Context())
			r2.URL.Path = "/healthz" + strings.TrimPrefix(r.URL.Path, "/livez")
			p.health.Handler().ServeHTTP(w, r2)
		})
	}
	p.ready.Mount(mux)
	return mux, nil
}
