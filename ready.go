package flyball

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/probe"
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
	for name, group := range map[string]probe.Group{"caches": m.checkCaches, "controllers": m.checkControllers} {
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

func (m *Manager) checkCaches(context.Context) map[string]error {
	all, now := map[string]error{}, time.Now()
	for name, w := range m.watches() {
		err := w.files.explain(checkWatch(w.Watch))
		switch {
		case err == nil:
		case m.absentOptional(w):
			err = &probe.ExcusedError{Why: whyOptional, Err: err}
		case w.cluster != "" && m.servesWebhooks():
			err = &probe.ExcusedError{Why: whyWebhooks, Err: err}
		case w.cluster == "" && m.excused(w.Kind.GVK.GroupKind(), w.State, now):
			err = &probe.ExcusedError{Why: whyConversion, Err: err}
		}
		all[checkName("cache:"+name)] = err
	}
	return all
}

// clusterWatch is a watch of one of the clusters.
type clusterWatch struct {
	cache.Watch
	cluster string
	files   *kubeconfig
}

// watches are those of all clusters, by distinct names.
func (m *Manager) watches() map[string]clusterWatch {
	all := map[string]clusterWatch{}
	for _, c := range m.allClusters() {
		for name, w := range watchNames(c.cache.Watches()) {
			all[strings.TrimPrefix(c.cluster+":"+name, ":")] = clusterWatch{w, c.cluster, c.files}
		}
	}
	return all
}

func (m *Manager) checkControllers(context.Context) map[string]error {
	all, excused := map[string]error{}, m.excusedKinds(time.Now())
	for name, c := range m.controllerSet() {
		state := c.State()
		err := checkController(state)
		if why := m.whyExcused(c, state, excused); err != nil && why != "" {
			err = &probe.ExcusedError{Why: why, Err: err}
		}
		all[checkName("controller:"+name)] = err
	}
	return all
}

// controllerSet is a copy of the controllers by name.
func (m *Manager) controllerSet() map[string]controller.Interface {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.controllers)
}

// watchNames maps distinct names to the watches of a cache. Watches of the same name are numbered in the
// order of the cache.
func watchNames(watches []cache.Watch) map[string]cache.Watch {
	all := make(map[string]cache.Watch, len(watches))
	same := map[string]int{}
	for _, w := range watches {
		name := w.Kind.Resource.GroupResource().String()
		if w.Selection.Namespace != "" {
			name += ":" + w.Selection.Namespace
		}
		if w.Selection.MetadataOnly {
			name += ":metadata"
		}
		own := name
		for {
			if same[name]++; same[name] > 1 {
				own = fmt.Sprintf("%s:%d", name, same[name])
			}
			if _, taken := all[own]; !taken { // a namespace may be a number
				break
			}
		}
		all[own] = w
	}
	return all
}

var errNotSynced = errors.New("not synced yet")

func checkWatch(w cache.Watch) error {
	switch {
	case w.State.Err != nil:
		return fmt.Errorf("%s: %w", w.State.Watch.Phase, w.State.Err)
	case !w.State.Synced:
		return errNotSynced
	case !w.State.Watch.Phase.Good():
		return errors.New(w.State.Watch.Phase.String())
	}
	return nil
}

func checkController(s controller.State) error {
	switch {
	case s.Err != nil:
		return s.Err
	case s.Phase == controller.Syncing:
		return errNotSynced
	}
	return nil
}

// checkName replaces the characters that a name of a check may not have, and cuts it to 128 bytes.
func checkName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r) {
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), 128)]
}

// handler serves the probes of a manager.
func (p *probes) handler() http.Handler {
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
	return mux
}
