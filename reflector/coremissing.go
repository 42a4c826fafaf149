package reflector

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flyball-io/flyball/client"
)

// askTime is how long discovery may take.
const askTime = 45 * time.Second

// errNoDiscovery says that the Source does not implement Discoverer.
var errNoDiscovery = errors.New("the source has no discovery")

// MissingError says that the server answers as if it did not serve the kind, and what its discovery
// says of that. It wraps the answer.
type MissingError struct {
	// Serving is what discovery says, if Unknown is nil.
	Serving client.Serving
	// Unknown says why discovery could not tell, or has not been asked yet.
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

// Unwrap returns the answer, and why discovery could not tell.
func (e *MissingError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Err, e.Unknown} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// missing is what the Core knows of a kind that the server seems not to serve. A 404 alone says
// little: a load balancer, a proxy, or a server that starts gives one, too. Only discovery can say
// that the kind is gone, twice with a wait between. Until then the kind is unavailable.
type missing struct {
	err    error          // the answer that said so
	answer client.Serving // of discovery
	cannot error          // why discovery could not tell
	asked  bool           // discovery was asked since the last wait
	nones  int            // answers in a row that no version serves the kind
	gone   bool           // it has been believed: the sink has no content
}

// notServed deals with an answer to a list that says that the kind is not there.
func (c *Core) notServed(at moment, err error) Action {
	c.abort()
	c.cont = ""
	c.missing.err = err
	if c.missing.asked {
		return c.verdict(at)
	}
	if c.state.HasSynced && !c.missing.gone {
		c.missing.cannot = errNotAsked
		c.unavailable(at, c.missingError())
	}
	return c.ask(at)
}

// unavailable takes the content of the sink for what may be false, until the next complete list.
func (c *Core) unavailable(at moment, err error) {
	c.well = time.Time{}
	if c.state.UnavailableSince.IsZero() {
		c.state.UnavailableSince = at.now
	}
	c.state.Err = &Error{Verb: "list", Resource: c.cfg.Resource, Err: err}
	c.phase(at, Unavailable)
}

func (c *Core) missingError() error {
	m := &c.missing
	return &MissingError{Serving: m.answer, Unknown: m.cannot, Err: m.err}
}

// ask asks discovery.
func (c *Core) ask(at moment) Action {
	c.mode, c.open = asking, false
	return Action{Do: Discover, Until: at.now.Add(askTime)}
}

func (c *Core) stepAsking(at moment, in Input) Action {
	m := &c.missing
	switch in.Event {
	case Discovered:
		m.answer, m.cannot = in.Serving, nil
	case End:
		m.answer, m.cannot = client.Serving{}, in.Err
	case Timer:
		m.answer, m.cannot = client.Serving{}, ErrStalled
	default:
		return c.next
	}
	if m.cannot == nil && m.answer.None() {
		m.nones++
	} else {
		m.nones = 0
	}
	waited := m.asked // asked after a wait, before the list
	m.asked = true
	if waited && (m.nones == 0 || c.state.HasSynced && !m.gone) {
		return c.request(at) // its answer counts as well
	}
	return c.verdict(at)
}

// verdict goes by what the list and discovery have said.
func (c *Core) verdict(at moment) Action {
	m := &c.missing
	m.asked = false
	err := c.missingError()
	switch {
	case !c.state.HasSynced && m.cannot == nil && m.answer.Here:
		return c.fail(at, "list", err, asking, 0)
	case !c.state.HasSynced, m.gone && m.nones > 0:
		return c.absent(at, NotFound, "list", err, asking)
	case m.nones >= 2:
		c.plan = plan{reason: KindGone}
		c.begin()
		c.finish("")
		c.plan = plan{reason: KindGone}
		m.gone = true
		c.state.UnavailableSince = time.Time{}
		return c.absent(at, NotFound, "list", err, asking)
	}
	m.gone = false
	c.unavailable(at, err)
	if m.cannot == nil && m.answer.Here {
		return c.fail(at, "list", err, asking, 0)
	}
	return c.absent(at, Unavailable, "list", err, asking)
}
