package audit

import (
	"errors"
	"maps"
	"math"
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

	maxPause    = time.Second      // between two pages
	maxPauses   = 2 * time.Minute  // of one list: a continue token lives for some minutes
	lookEvery   = time.Second      // between two looks at what differs, until the watch has passed the list
	quietFor    = 2 * time.Minute  // that a watch may stand still before it counts as having passed the list
	maxBehind   = 10 * time.Minute // that the watch may be behind the list
	maxDiffer   = 4096             // differences of one audit; the next one finds the others
	maxUnmended = 1000             // differences that no list mends
	retries     = 8                // an audit that is ErrVoid is made again after this part of the period
	patience    = 4                // an unfit server is asked again after as many periods
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
	// Done: the audit has ended, with Action.Err or nil.
	Done
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
	// Unmended is how many objects differ as they did before the last repair. They are left alone.
	Unmended int
	Err      error
}

// Core decides what an audit does. It is for one goroutine.
type Core struct {
	began    Watch
	second   bool
	size     int    // about how many objects there are
	keys     hashes // of what was listed; of the first list only
	pages    paging.Guard
	from     string    // the version of the first page
	unnamed  bool      // an object was listed that does not say its name
	asked    time.Time // when the last page was
	paused   time.Duration
	shown    string // the version of the watch when the list began
	found    map[object.Key]Lost
	relisted map[object.Key]State // what the second list shows of them

	version string    // of the list
	ended   time.Time // when it had come
	at      string    // the version of the watch
	since   time.Time // that it has that one

	kept
	unmended map[uint64]struct{} // findings of the last repair that are there again
}

// kept is what is remembered between audits.
type kept struct {
	repaired map[uint64]struct{} // findings of the last repair, which the list after it has to mend
	earlier  map[uint64]struct{} // those of them that an earlier list did not mend
	lists    uint64              // Watch.Lists when that repair was asked for
}

// Next is when the next audit begins: after three quarters of the period to the whole of it, or sooner
// after one that is ErrVoid, or after four periods where the server is unfit. err is how the last one
// ended, random is from [0, 1).
func Next(now time.Time, period time.Duration, err error, random float64) time.Time {
	switch {
	case errors.Is(err, ErrVoid):
		period /= retries
	case Unfit(err) && period <= math.MaxInt64/patience:
		period *= patience
	}
	return now.Add(period - time.Duration(random*float64(period/4)))
}

// Begin begins an audit of n objects.
func (c *Core) Begin(now time.Time, w Watch, n int) Action {
	if !w.Good {
		return c.end(ErrVoid)
	}
	*c = Core{began: w, size: n, kept: c.kept, found: map[object.Key]Lost{}, unmended: map[uint64]struct{}{}}
	if c.earlier != nil && c.lists == w.Lists { // the list of the repair has not come: it was not made
		c.repaired, c.earlier = c.earlier, nil
	}
	return c.list(now, w)
}

func (c *Core) list(now time.Time, w Watch) Action {
	c.pages, c.from, c.asked, c.paused, c.shown = paging.Guard{}, "", now, 0, w.Version
	return Action{Do: List, First: true}
}

// end ends an audit, and forgets what it holds.
func (c *Core) end(err error) Action {
	a := Action{Do: Done, Err: err, Unmended: len(c.unmended)}
	k := c.kept
	if err == nil {
		k = kept{repaired: c.unmended} // what is not there again was mended
	}
	*c = Core{kept: k}
	return a
}

// Fail ends an audit that cannot go on.
func (c *Core) Fail(err error) Action { return c.end(err) }

// Item is an object of a page, and what is held of it. One that does not say its name has no key.
func (c *Core) Item(key object.Key, listed, held State) {
	paging.Item(&c.pages, key)
	if key.Name == "" {
		c.unnamed = true
		return
	}
	if c.second {
		if _, ok := c.found[key]; ok {
			c.relisted[key] = listed
		}
		return
	}
	if c.keys == nil {
		c.keys = make(hashes, 0, c.size+c.size/64+16)
	}
	c.keys = append(c.keys, hash(key))
	c.candidate(Lost{Key: key, Held: held, Listed: listed})
}

// candidate adds an object whose states differ to those found, unless the last repair has not mended it.
func (c *Core) candidate(l Lost) {
	if !differ(l.Held, l.Listed) {
		return
	}
	if _, known := c.repaired[l.finding()]; known {
		c.unmended[l.finding()] = struct{}{}
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
		return c.end(errors.New("the list has no resourceVersion"))
	case w.Lists != c.began.Lists:
		return c.end(ErrVoid)
	case !c.began.Unordered && before(version, c.shown):
		return c.end(ErrOlder)
	case next != "":
		if err := c.pages.Next(next); err != nil {
			return c.end(err)
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
	if len(c.unmended) >= maxUnmended {
		return c.end(ErrUnlike)
	}
	c.version, c.ended, c.at, c.since = version, now, w.Version, now
	return c.look(now, w, held)
}

// compare finds what is held and was not listed. An object that is newer than the list was created later.
func (c *Core) compare(held Holding) {
	slices.Sort(c.keys)
	for key, s := range held.All() {
		if c.unnamed {
			break // it may be any of them
		}
		if _, listed := slices.BinarySearch(c.keys, hash(key)); listed {
			continue
		}
		if c.began.Unordered || !before(c.from, s.Version) {
			c.candidate(Lost{Key: key, Held: s})
		}
	}
	c.keys = nil
}

// compareAgain drops what the second list does not show as the first one did.
func (c *Core) compareAgain() {
	for key, l := range c.found {
		s := c.relisted[key]
		same := s.There == l.Listed.There && s.UID == l.Listed.UID && (s.There || !c.unnamed)
		if c.began.Selected && !l.Held.There && s.Version != l.Listed.Version {
			same = false // it may have left the selection in between, and come back
		}
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
		return c.end(ErrVoid)
	}
	for key, l := range c.found {
		if held.State(key) != l.Held { // the watch goes on to show it
			delete(c.found, key)
		}
	}
	if len(c.found) == 0 {
		return c.end(nil)
	}
	if w.Version != c.at {
		c.at, c.since = w.Version, now
	}
	switch {
	case !w.Good || !c.passed(now, w):
		if now.Sub(c.ended) < maxBehind {
			return Action{Do: Look, Pause: lookEvery}
		} else if !w.Good {
			return c.end(ErrVoid)
		}
		return c.end(ErrBehind)
	case !c.second:
		c.second, c.unnamed, c.relisted = true, false, make(map[object.Key]State, len(c.found))
		return c.list(now, w)
	}
	return c.repair()
}

// passed reports whether the watch has shown everything up to the version of the list. Where the server
// does not say how far the watch is, two minutes have to do.
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

// repair ends the audit, and remembers what it found. An object that differs in the same way after the
// list was not mended by it, and is left alone from then on.
func (c *Core) repair() Action {
	a := Action{Do: Repair, Unmended: len(c.unmended)}
	k := kept{repaired: maps.Clone(c.unmended), earlier: c.unmended, lists: c.began.Lists}
	for _, l := range c.found {
		a.Lost = append(a.Lost, l)
		k.repaired[l.finding()] = struct{}{}
	}
	slices.SortFunc(a.Lost, func(x, y Lost) int { return x.Key.Compare(y.Key) })
	*c = Core{kept: k}
	return a
}
