package reflector

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// askTime is how long discovery may take.
const askTime = 45 * time.Second

// errNoDiscovery says that the Source does not implement discoverer.
var errNoDiscovery = errors.New("the source has no discovery")

// MissingError says that the server answers as if it did not serve the kind. It wraps that answer, and has
// the answer of discovery.
type MissingError struct {
	// Here is true if discovery has the kind, although the list or watch was not found.
	Here bool
	// Elsewhere has the other versions in which discovery has the kind.
	Elsewhere []string
	// Gone says that the definition of the kind, and so each object, is proven to be gone. Unproven says why that
	// cannot be proven, or is nil.
	Gone     bool
	Unproven error
	// Unknown says why there is no answer of discovery, or is nil. The fields above are then empty.
	Unknown error
	// Err is the answer to the list or watch.
	Err error
}

var errNotAsked = errors.New("not asked yet")

func (e *MissingError) Error() string {
	answer := "the kind was not found"
	if e.Err != nil {
		answer = e.Err.Error()
	}
	switch {
	case e.Unknown != nil:
		return fmt.Sprintf("%s (discovery cannot tell whether the kind is served: %v)", answer, e.Unknown)
	case e.Gone:
		return answer + " (the CustomResourceDefinition of the kind is gone)"
	case e.Here:
		return answer + " (although discovery has the kind)"
	case len(e.Elsewhere) > 0:
		return fmt.Sprintf("%s (discovery has the kind in %s only)", answer, strings.Join(e.Elsewhere, ", "))
	case e.Unproven != nil:
		return fmt.Sprintf("%s (discovery has the kind in no version; nothing proves that it is gone: %v)", answer, e.Unproven)
	}
	return answer + " (discovery has the kind in no version)"
}

// served reports whether discovery has the kind in some version.
func (e *MissingError) served() bool { return e.Here || len(e.Elsewhere) > 0 }

// Unwrap returns Err and Unknown, without those that are nil.
func (e *MissingError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Err, e.Unknown} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// missing is what the core knows of a kind that the server seems not to serve. No absence proves anything: a
// load balancer, a proxy, a starting server and one of several servers answer so, too. Such a kind is
// unavailable. It is gone by one proof only: the API server says that its definition is gone.
type missing struct {
	err    error        // the answer to the list
	answer MissingError // of discovery, without Err
	asked  bool         // discovery was asked after the last wait
	gone   bool         // the kind is gone, and the sink is empty
}

// notServed follows a 404 or 405 on a list.
func (c *core) notServed(at stepTime, err error) action {
	c.abort()
	c.cont = ""
	c.missing.err = err
	if c.missing.asked {
		return c.verdict(at)
	}
	if c.state.HasSynced && !c.missing.gone {
		c.missing.answer.Unknown = errNotAsked
		c.markUnavailable(at, c.missingError())
	}
	return c.ask(at)
}

// markUnavailable makes the kind unavailable until the next complete list. The content may be out of date.
func (c *core) markUnavailable(at stepTime, err error) {
	c.goodSince = time.Time{}
	if c.state.UnavailableSince.IsZero() {
		c.state.UnavailableSince = at.now
	}
	c.state.Err = &Error{Verb: "list", Resource: c.cfg.Resource, Err: err}
	c.setPhase(at, Unavailable)
}

func (c *core) missingError() error {
	e := c.missing.answer
	e.Err = c.missing.err
	return &e
}

// ask asks discovery, and for the proof that a held kind is gone.
func (c *core) ask(at stepTime) action {
	c.mode, c.open = asking, false
	return action{do: doDiscover, prove: c.holds() || !c.state.UnavailableSince.IsZero(), until: at.now.Add(askTime)}
}

func (c *core) stepAsking(at stepTime, in input) action {
	m := &c.missing
	switch in.event {
	case discovered:
		m.answer = in.answer
	case ended:
		m.answer = MissingError{Unknown: in.err}
	case timedOut:
		m.answer = MissingError{Unknown: ErrStalled}
	default:
		return c.next
	}
	waited := m.asked // the wait is over
	m.asked = true
	if waited && (m.answer.Unknown != nil || m.answer.Here) {
		return c.request(at) // the verdict follows the list
	}
	return c.verdict(at)
}

// verdict decides by the answers to the list and of discovery what the kind is until it is asked for again. A
// kind that is gone and served in another version again is unavailable: it may have other objects.
func (c *core) verdict(at stepTime) action {
	m := &c.missing
	m.asked = false
	known := m.answer.Unknown == nil
	proven, served := known && m.answer.Gone, known && m.answer.served()
	if c.state.HasSynced {
		if proven && (!m.gone || !c.state.UnavailableSince.IsZero() && !served) {
			c.empty()
		}
		if !m.gone || served && !(proven && m.answer.Here) {
			c.markUnavailable(at, c.missingError())
		}
	}
	if known && m.answer.Here {
		return c.fail(at, "list", c.missingError(), asking, 0)
	}
	phase := NotFound
	if !c.state.UnavailableSince.IsZero() {
		phase = Unavailable
	}
	return c.waitAbsent(at, phase, "list", c.missingError(), asking)
}

// empty tells the sink that the kind is gone with all of its objects. The next list is of the newest version: a
// server that is behind may still show them.
func (c *core) empty() {
	c.plan = plan{reason: whyKindGone}
	c.begin()
	c.finish("")
	c.plan = plan{reason: whyKindGone, newest: true}
	c.missing.gone = true
	c.state.UnavailableSince = time.Time{}
}
