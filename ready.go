package flyball

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/probe"
)

// Reasons say whom the probes tell why a check fails. The names of the checks, and which of them
// fail, are told to everybody; the log has every reason.
type Reasons int

const (
	// ReasonsOnLoopback tells them where the probes are served on loopback alone.
	ReasonsOnLoopback Reasons = iota
	// ReasonsShown tells them to everybody who can reach the probes.
	ReasonsShown
	// ReasonsWithheld keeps them to the log.
	ReasonsWithheld
)

var reasonsNames = [...]string{"loopback", "shown", "withheld"}

// String is the value of the flag: "loopback", "shown", "withheld".
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

// withheld reports whether probes at an address keep the reasons to themselves. Those that are served
// nowhere are served by the program, which knows where.
func (r Reasons) withheld(addr string) bool {
	return r == ReasonsWithheld || r == ReasonsOnLoopback && addr != "" && !isLoopback(addr)
}

// probeAge is how long the probes repeat an answer: whoever may ask costs no more than one answer a
// second. What a person must see at once is forgotten earlier; see Manager.changed.
const probeAge = time.Second

// probes are the checks of a manager.
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
	fixed := map[string]probe.Check{"manager": func(context.Context) error { return m.life.ready() }}
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
	m.life.changed = m.changed
	return nil
}

// changed has the next probe look anew.
func (m *Manager) changed() { m.probes.ready.Forget() }

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
//	controller:NAME          its sources have synced, where it is to run; a standby waits. Then: none
//	                         has failed for five minutes; see controller.FailingError
//
// A check is excused, which the verbose answer says, where readiness would keep the webhooks of this
// program from being called: API servers call replicas that are ready alone. A kind that the webhooks
// of this program convert, and a controller that waits for it, are excused while the API server cannot
// list the kind: it may need the conversion. What it refuses for lack of permission is not; see
// convert.Endpoint.Converts. A controller whose sources fail is excused where this program serves
// webhooks: they work without it. Reconciles that fail do not touch readiness.
//
// Those of caches and controllers come and go; a check of the program that has the name of one takes
// its place. The names "caches" and "controllers" stand for all of them where checks are excluded.
// Over HTTP an answer is repeated for a second, unless a phase or a controller begins or ends.
func (m *Manager) Ready() *probe.Set { return m.probes.ready }

func (m *Manager) checkCaches(context.Context) map[string]error {
	all, now := map[string]error{}, time.Now()
	for name, w := range watchNames(m.cache.Watches()) {
		err := checkWatch(w)
		if err != nil && m.excused(w.Kind.GVK.GroupKind(), w.State, now) {
			err = &probe.ExcusedError{Why: whyConversion, Err: err}
		}
		all[checkName("cache:"+name)] = err
	}
	return all
}

func (m *Manager) checkControllers(context.Context) map[string]error {
	all, excused := map[string]error{}, m.excusedKinds(time.Now())
	for name, s := range m.stateful() {
		state := s.State()
		err := checkController(state)
		if why := m.whyExcused(s, state, excused); err != nil && why != "" {
			err = &probe.ExcusedError{Why: why, Err: err}
		}
		all[checkName("controller:"+name)] = err
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

// watchNames names the watches of a cache, those of one name in the order of the cache.
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
			if _, taken := all[own]; !taken { // by a namespace that is a number
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
func (p *probes) handler() http.Handler {
	mux := http.NewServeMux()
	p.health.Mount(mux)
	for _, path := range []string{"/livez", "/livez/"} { // another name of the same
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			r2 := r.Clone(r.Context())
			r2.URL.Path = "/healthz" + strings.TrimPrefix(r.URL.Path, "/livez")
			p.health.Handler().ServeHTTP(w, r2)
		})
	}
	p.ready.Mount(mux)
	return mux
}
