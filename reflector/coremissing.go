package reflector

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/discovery"
)

// askTime is how long discovery may take.
const askTime = 45 * time.Second

// errNoDiscovery says that the Source does not implement discoverer.
var errNoDiscovery = errors.New("the source has no discovery")

// MissingError says that the server answers as if it did not serve the kind. It wraps that answer, and has
// the answer of discovery.
type MissingError struct {
	// Serving is the answer of discovery, if Unknown is nil.
	Serving discovery.Serving
	// Unknown says why there is no answer of discovery, or is nil.
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
	s := e.Serving
	switch {
	case e.Unknown != nil:
		return fmt.Sprintf("%s (discovery cannot tell whether the kind is served: %v)", answer, e.Unknown)
	case s.Here:
		return answer + " (although discovery has the kind)"
	case len(s.Elsewhere) == 1:
		return fmt.Sprintf("%s is no longer served; %s is: %s", s.Version, s.Elsewhere[0], answer)
	case len(s.Elsewhere) > 1:
		return fmt.Sprintf("%s is no longer served; %s are: %s", s.Version, strings.Join(s.Elsewhere, ", "), answer)
	}
	return answer + " (discovery has the kind in no version)"
}

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

// missing is what the core knows of a kind that the server seems not to serve. A 404 alone proves nothing: a
// load balancer, a proxy or a starting server sends one too. Only discovery confirms that the kind is gone,
// by two answers with a wait between them. Until then the kind is unavailable.
type missing struct {
	err       error             // the answer to the list
	answer    discovery.Serving // the answer of discovery
	unknown   error             // why discovery has no answer
	asked     bool              // discovery was asked after the last wait
	denials   int               // consecutive answers that no version serves the kind
	confirmed bool              // the kind is gone, and the sink is empty
}

// notServed follows a 404 or 405 on a list.
func (c *core) notServed(at stepTime, err error) action {
	c.abort()
	c.cont = ""
	c.missing.err = err
	if c.missing.asked {
		return c.verdict(at)
	}
	if c.state.HasSynced && !c.missing.confirmed {
		c.missing.unknown = errNotAsked
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
	m := &c.missing
	return &MissingError{Serving: m.answer, Unknown: m.unknown, Err: m.err}
}

// ask asks discovery.
func (c *core) ask(at stepTime) action {
	c.mode, c.open = asking, false
	return action{do: doDiscover, until: at.now.Add(askTime)}
}

func (c *core) stepAsking(at stepTime, in input) action {
	m := &c.missing
	switch in.event {
	case discovered:
		m.answer, m.unknown = in.serving, nil
	case ended:
		m.answer, m.unknown = discovery.Serving{}, in.err
	case timedOut:
		m.answer, m.unknown = discovery.Serving{}, ErrStalled
	default:
		return c.next
	}
	if m.unknown == nil && m.answer.None() {
		m.denials++
	} else {
		m.denials = 0
	}
	waited := m.asked // the wait is over, and the list comes next
	m.asked = true
	if waited && (m.denials == 0 || c.state.HasSynced && !m.confirmed) {
		return c.request(at) // the verdict follows the list
	}
	return c.verdict(at)
}

// verdict decides by the answers to the list and of discovery whether the kind is gone.
func (c *core) verdict(at stepTime) action {
	m := &c.missing
	m.asked = false
	err := c.missingError()
	switch {
	case !c.state.HasSynced && m.unknown == nil && m.answer.Here:
		return c.fail(at, "list", err, asking, 0)
	case !c.state.HasSynced, m.confirmed && m.denials > 0:
		return c.waitAbsent(at, NotFound, "list", err, asking)
	case m.denials >= 2:
		c.plan = plan{reason: whyKindGone}
		c.begin()
		c.finish("")
		c.plan = plan{reason: whyKindGone}
		m.confirmed = true
		c.state.UnavailableSince = time.Time{}
		return c.waitAbsent(at, NotFound, "list", err, asking)
	}
	m.confirmed = false
	c.markUnavailable(at, err)
	if m.unknown == nil && m.answer.Here {
		return c.fail(at, "list", err, asking, 0)
	}
	return c.waitAbsent(at, Unavailable, "list", err, asking)
}
