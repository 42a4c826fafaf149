package flyball

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/probe"
)

// probes are the checks of a manager.
type probes struct {
	health, ready *probe.Set

	mu   sync.Mutex
	came map[string]func() // checks that come and go, by name, and what takes them out
}

func (m *Manager) newProbes() (err error) {
	o := probe.Options{Logger: m.logger}
	p := &m.probes
	p.came = map[string]func(){}
	if p.health, err = probe.New("healthz", o); err != nil {
		return err
	}
	if p.ready, err = probe.New("readyz", o); err != nil {
		return err
	}
	fixed := map[string]probe.Check{"manager": func(context.Context) error { return m.life.ready() }}
	if m.elector != nil {
		fixed["lease"] = m.checkLease
	}
	for name, check := range fixed {
		if _, err := p.ready.Add(name, check); err != nil {
			return err
		}
	}
	return nil
}

// checkLease is in order on the leader, and on a standby that can read the lease.
func (m *Manager) checkLease(context.Context) error { return m.elector.State().Err }

// Health is what /healthz and /livez check: whether the process must be started anew. At first that
// is nothing but that it answers; add what no waiting will mend.
func (m *Manager) Health() *probe.Set { return m.probes.health }

// Ready is what /readyz checks: add what else this program needs to do its work. There are
//
//	manager                  all phases have started, and none was told to stop
//	lease                    the lease can be read and renewed; a standby is ready, too
//	certificate:SERVER       it is valid, and can be kept so
//	cache:RESOURCE.GROUP     the kind has synced, and follows the server; behind it, where that
//	                         needs to be told, :NAMESPACE, :metadata, :2
//	controller:NAME          its sources have synced, where it is to run; a standby waits
//
// Those of caches and controllers come and go: the set has those there are when Ready is called,
// and when /readyz is asked.
func (m *Manager) Ready() *probe.Set {
	m.probes.mu.Lock()
	defer m.probes.mu.Unlock()
	now := m.checks()
	for name, remove := range m.probes.came {
		if now[name] == nil {
			remove()
			delete(m.probes.came, name)
		}
	}
	for name, check := range now {
		if m.probes.came[name] == nil {
			// A name that the program has given to a check of its own is left to it.
			if remove, err := m.probes.ready.Add(name, check); err == nil {
				m.probes.came[name] = remove
			}
		}
	}
	return m.probes.ready
}

// checks are those that come and go. Each looks up by its name what it is about.
func (m *Manager) checks() map[string]probe.Check {
	all := map[string]probe.Check{}
	for name := range watchNames(m.cache.Watches()) {
		all[checkName("cache:"+name)] = func(context.Context) error {
			if w, ok := watchNames(m.cache.Watches())[name]; ok {
				return checkWatch(w)
			}
			return nil // nobody has it open any more
		}
	}
	for name, s := range m.stateful() {
		all[checkName("controller:"+name)] = func(context.Context) error { return checkController(s.State()) }
	}
	for _, c := range m.servers.certs {
		all["certificate:"+c.name] = c.source.Check
	}
	return all
}

func (m *Manager) stateful() map[string]stateful {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]stateful{}
	for name, s := range m.states {
		all[name] = s
	}
	return all
}

// watchNames names the watches of a cache.
func watchNames(watches []cache.Watch) map[string]cache.Watch {
	all := map[string]cache.Watch{}
	for _, w := range watches {
		name := w.Kind.Resource.GroupResource().String()
		if w.Selection.Namespace != "" {
			name += ":" + w.Selection.Namespace
		}
		if w.Selection.MetadataOnly {
			name += ":metadata"
		}
		own := name
		for n := 2; ; n++ {
			if _, taken := all[own]; !taken {
				break
			}
			own = fmt.Sprintf("%s:%d", name, n)
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

// checkName makes a name one that checks may have.
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
func (p *probes) handler(m *Manager) http.Handler {
	mux := http.NewServeMux()
	p.health.Mount(mux)
	for _, path := range []string{"/livez", "/livez/"} { // another name of the same
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			r2 := r.Clone(r.Context())
			r2.URL.Path = "/healthz" + strings.TrimPrefix(r.URL.Path, "/livez")
			p.health.Handler().ServeHTTP(w, r2)
		})
	}
	for _, path := range []string{"/readyz", "/readyz/"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { m.Ready().Handler().ServeHTTP(w, r) })
	}
	return mux
}
