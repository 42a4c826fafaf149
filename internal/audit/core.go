package audit

import (
	"errors"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/object"
)

var (
	// ErrVoid says that content was listed anew during an audit, or that the watch did not follow the
	// server: there is nothing to compare.
	ErrVoid = errors.New("the content was listed anew, or the watch was lost")
	// ErrBehind says that the watch did not reach the version of the list in time.
	ErrBehind = errors.New("the watch is too far behind")
	// ErrOlder says that the server listed an older state than the watch had shown before.
	ErrOlder = errors.New("the list is older than what the watch has shown")
	// ErrStalled says that the list did not come in time.
	ErrStalled = errors.New("the list did not come in time")
	// ErrUnlike says that lists of metadata do not show what other lists do.
	ErrUnlike = errors.New("metadata is listed in other versions than objects are")
	// ErrNoMetadata says that the server does not list metadata.
	ErrNoMetadata = errors.New("the server does not list metadata")
)

const (
	// PageSize is how many objects a page has.
	PageSize = 500
	// MaxList is how long a list may take, MaxPage how long nothing may come on it.
	MaxList = 15 * time.Minute
	MaxPage = time.Minute

	maxPause  = time.Second      // between two pages
	maxPauses = 2 * time.Minute  // of one list: a continue token lives for some minutes
	lookEvery = time.Second      // at what differs, until the watch has passed the list
	quietFor  = 2 * time.Minute  // without another version, after which it will not do so any more
	maxBehind = 10 * time.Minute // that the watch may be behind the list
	maxDiffer = 4096             // differences that are looked at, the others are left to the next audit
	maxVain   = 1000             // differences that no list mends
	retries   = 8                // a void audit is made again after this part of the period
)

// Do is what comes next.
type Do uint8

const (
	// List asks for a page: Action.Continue. Action.Pause is to be waited for first.
	List Do = iota + 1
	// Look calls Core.Look after Action.Pause.
	Look
	// Repair lists the content anew, since Action.Lost were lost. The audit has ended.
	Repair
	// Rest: the audit has ended, with Action.Err or nil.
	Rest
)

// Action is what comes next.
type Action struct {
	Do       Do
	Pause    time.Duration
	Continue string
	// First begins a list.
	First bool
	// Lost has what was lost, a few thousand at most.
	Lost []Lost
	// Vain is how many objects differ as they did before the last repair, which are left alone.
	Vain int
	Err  error
}

// Core decides what an audit does. It is for one goroutine.
type Core struct {
	began  Watch
	second bool
	keys   hashes // of what was listed; of the first list only
	pages  paging.Guard
	from   string    // the version of the first page
	nobody bool      // an object was listed that does not say its name
	asked  time.Time // when the last page was
	paused time.Duration
	shown  string // the version of the watch when the list began
	found  map[object.Key]Lost
	again  map[object.Key]State // what the second list shows of them

	version string    // of the list
	ended   time.Time // when it had come
	at      string    // the version of the watch
	since   time.Time // that it has that one

	repaired map[uint64]struct{} // findings of the last repair
	vain     map[uint64]struct{} // those that are there again
}

// Next is when the next audit begins: after three quarters of the period to the whole of it, or sooner
// after a void one. err is how the last one ended, random is from [0, 1).
func Next(now time.Time, period time.Duration, err error, random float64) time.Time {
	if errors.Is(err, ErrVoid) {
		period /= retries
	}
	return now.Add(period - time.Duration(random*float64(period/4)))
}

// Begin begins an audit of n objects.
func (c *Core) Begin(now time.Time, w Watch, n int) Action {
	if !w.Good {
		return c.rest(ErrVoid)
	}
	*c = Core{began: w, repaired: c.repaired, found: map[object.Key]Lost{}, vain: map[uint64]struct{}{}}
	c.keys = make(hashes, 0, n+n/64+16)
	return c.list(now, w)
}

func (c *Core) list(now time.Time, w Watch) Action {
	c.pages, c.from, c.asked, c.paused, c.shown = paging.Guard{}, "", now, 0, w.Version
	return Action{Do: List, First: true}
}

// rest ends an audit, and forgets what it holds.
func (c *Core) rest(err error) Action {
	a := Action{Do: Rest, Err: err, Vain: len(c.vain)}
	repaired := c.repaired
	if err == nil {
		repaired = c.vain // what is not there again was mended
	}
	*c = Core{repaired: repaired}
	return a
}

// Fail ends an audit that cannot go on.
func (c *Core) Fail(err error) Action { return c.rest(err) }

// Item is an object of a page, and what is held of it. One that does not say its name has no key.
func (c *Core) Item(key object.Key, listed, held State) {
	paging.Item(&c.pages, key)
	if key.Name == "" {
		c.nobody = true
		return
	}
	if c.second {
		if _, ok := c.found[key]; ok {
			c.again[key] = listed
		}
		return
	}
	c.keys = append(c.keys, hash(key))
	c.note(Lost{Key: key, Held: held, Listed: listed})
}

// note takes up what differs.
func (c *Core) note(l Lost) {
	if !differ(l.Held, l.Listed) {
		return
	}
	if _, known := c.repaired[l.finding()]; known {
		c.vain[l.finding()] = struct{}{}
	} else if len(c.found) < maxDiffer {
		c.found[l.Key] = l
	}
}

// Page ends a page. held is read after the last one.
func (c *Core) Page(now time.Time, version, next string, w Watch, held Holding) Action {
	if c.from == "" {
		c.from = version
	}
	switch {
	case version == "":
		return c.rest(errors.New("the list has no resourceVersion"))
	case w.Lists != c.began.Lists:
		return c.rest(ErrVoid)
	case !c.began.Unordered && before(version, c.shown):
		return c.rest(ErrOlder)
	case next != "":
		if err := c.pages.Next(next); err != nil {
			return c.rest(err)
		}
		pause := min(3*now.Sub(c.asked), maxPause, maxPauses-c.paused) // a quarter of the time is spent
		c.asked, c.paused = now.Add(pause), c.paused+pause
		return Action{Do: List, Continue: next, Pause: pause}
	}
	if c.second {
		c.compareAgain()
	} else {
		c.compare(held)
	}
	if len(c.vain) >= maxVain {
		return c.rest(ErrUnlike)
	}
	c.version, c.ended, c.at, c.since = version, now, w.Version, now
	return c.look(now, w, held)
}

// compare takes up what is held and was not listed. What is newer than the list was made since.
func (c *Core) compare(held Holding) {
	slices.Sort(c.keys)
	for key, s := range held.All() {
		if c.nobody {
			break // it may be any of them
		}
		if _, listed := slices.BinarySearch(c.keys, hash(key)); listed {
			continue
		}
		if c.began.Unordered || !before(c.from, s.Version) {
			c.note(Lost{Key: key, Held: s})
		}
	}
	c.keys = nil
}

// compareAgain drops what the second list does not show as the first one did.
func (c *Core) compareAgain() {
	for key, l := range c.found {
		s := c.again[key]
		same := s.There == l.Listed.There && s.UID == l.Listed.UID && (s.There || !c.nobody)
		if l.Listed = s; same && differ(l.Held, s) {
			c.found[key] = l
		} else {
			delete(c.found, key)
		}
	}
}

// Look looks at what differed, after a list.
func (c *Core) Look(now time.Time, w Watch, held Holding) Action { return c.look(now, w, held) }

func (c *Core) look(now time.Time, w Watch, held Holding) Action {
	if w.Lists != c.began.Lists {
		return c.rest(ErrVoid)
	}
	for key, l := range c.found {
		if held.State(key) != l.Held { // the watch goes on to show it
			delete(c.found, key)
		}
	}
	if len(c.found) == 0 {
		return c.rest(nil)
	}
	if w.Version != c.at {
		c.at, c.since = w.Version, now
	}
	switch {
	case !w.Good || !c.passed(now, w):
		if now.Sub(c.ended) < maxBehind {
			return Action{Do: Look, Pause: lookEvery}
		} else if !w.Good {
			return c.rest(ErrVoid)
		}
		return c.rest(ErrBehind)
	case !c.second:
		c.second, c.nobody, c.again = true, false, make(map[object.Key]State, len(c.found))
		return c.list(now, w)
	}
	return c.repair()
}

// passed reports whether the watch has shown everything up to the version of the list, or has had the
// time: some servers do not say how far a watch is.
func (c *Core) passed(now time.Time, w Watch) bool {
	order, ok := object.CompareVersions(w.Version, c.version)
	switch {
	case w.Unordered || !ok:
		return now.Sub(c.ended) >= quietFor
	case order >= 0:
		return true
	}
	return now.Sub(c.since) >= quietFor
}

// repair ends the audit. What differs in the same way after a list was made was not mended by it, and
// is left alone from then on.
func (c *Core) repair() Action {
	a := Action{Do: Repair, Vain: len(c.vain)}
	repaired := c.vain
	for _, l := range c.found {
		a.Lost = append(a.Lost, l)
		repaired[l.finding()] = struct{}{}
	}
	slices.SortFunc(a.Lost, func(x, y Lost) int { return x.Key.Compare(y.Key) })
	*c = Core{repaired: repaired}
	return a
}
