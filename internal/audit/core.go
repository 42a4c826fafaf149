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
	// ErrVoid says that the content was relisted during an audit, or that the watch was lost.
	// Nothing can be compared.
	ErrVoid = errors.New("the content was relisted during the audit, or the watch was lost")
	// ErrBehind says that the watch did not reach the version of the list in time.
	ErrBehind = errors.New("the watch is too far behind")
	// ErrOlder says that the server listed an older state than the watch had already shown.
	ErrOlder = errors.New("the list is older than the watch")
	// ErrStalled says that the list did not arrive in time.
	ErrStalled = errors.New("the list timed out")
	// ErrUnlike says that lists of metadata show other versions than lists of objects.
	ErrUnlike = errors.New("lists of metadata show other versions than lists of objects")
	// ErrNoMetadata says that the server does not list metadata.
	ErrNoMetadata = errors.New("the server does not list metadata")
)

const (
	// PageSize is the number of objects in a page.
	PageSize = 500
	// MaxList is the time limit of a list. MaxPage is the limit of a silence during a list.
	MaxList = 15 * time.Minute
	MaxPage = time.Minute

	maxPause     = time.Second      // between two pages
	maxPauses    = 2 * time.Minute  // of one list: a continue token expires after some minutes
	lookInterval = time.Second      // between two checks of the differences, until the watch has passed the list
	silenceLimit = 2 * time.Minute  // silence of the watch after which it counts as having passed the list
	maxBehind    = 10 * time.Minute // how long the watch may be behind the list
	maxDiffer    = 4096             // differences of one audit; the next audit finds the others
	maxUnmended  = 1000             // differences that a list does not repair
	retries      = 8                // an audit with ErrVoid is repeated after this part of the period
	unfitPeriods = 4                // an unfit server is audited after this many periods
)

// Do is the kind of an Action.
type Do uint8

const (
	// List requests the page Action.Continue, after waiting Action.Pause.
	List Do = iota + 1
	// Look calls Core.Look after Action.Pause.
	Look
	// Repair relists the content, since Action.Lost were lost. The audit has ended.
	Repair
	// Done ends the audit, with Action.Err or nil.
	Done
)

// Action is the next step of an audit.
type Action struct {
	Do       Do
	Pause    time.Duration
	Continue string
	// First marks the first page of a list.
	First bool
	// Lost are the lost objects, a few thousand at most.
	Lost []Lost
	// Unmended is the number of objects that differ as they did before the last repair. They are
	// not repaired again.
	Unmended int
	Err      error
}

// Core makes the decisions of an audit. It is for one goroutine.
type Core struct {
	began        Watch
	second       bool
	size         int    // about how many objects exist
	keys         hashes // of the listed objects; first list only
	pages        paging.Guard
	firstVersion string    // version of the first page
	unnamed      bool      // an object without a readable name was listed
	requested    time.Time // when the last page was requested
	paused       time.Duration
	watchAtStart string // version of the watch when the list began
	found        map[object.Key]Lost
	relisted     map[object.Key]State // their states in the second list

	version      string    // version of the list
	ended        time.Time // end of the list
	watchVersion string    // version of the watch
	watchSince   time.Time // when the watch reached that version

	kept
	unmended map[uint64]struct{} // findings of the last repair that occur once more
}

// kept is the state between audits.
type kept struct {
	repaired map[uint64]struct{} // findings of the last repair, which its list must repair
	earlier  map[uint64]struct{} // those that an earlier list did not repair
	lists    uint64              // Watch.Lists at the time of that repair
}

// Next returns the time of the next audit: after three quarters of the period to the whole of it.
// After ErrVoid it is sooner. After an unfit server it takes four periods. err is the result of the
// last audit; random is from [0, 1).
func Next(now time.Time, period time.Duration, err error, random float64) time.Time {
	switch {
	case errors.Is(err, ErrVoid):
		period /= retries
	case Unfit(err) && period <= math.MaxInt64/unfitPeriods:
		period *= unfitPeriods
	}
	return now.Add(period - time.Duration(random*float64(period/4)))
}

// Begin begins an audit of about n objects.
func (c *Core) Begin(now time.Time, w Watch, n int) Action {
	if !w.Good {
		return c.end(ErrVoid)
	}
	*c = Core{began: w, size: n, kept: c.kept, found: map[object.Key]Lost{}, unmended: map[uint64]struct{}{}}
	if c.earlier != nil && c.lists == w.Lists { // the list of the repair was not made
		c.repaired, c.earlier = c.earlier, nil
	}
	return c.list(now, w)
}

func (c *Core) list(now time.Time, w Watch) Action {
	c.pages, c.firstVersion, c.requested, c.paused, c.watchAtStart = paging.Guard{}, "", now, 0, w.Version
	return Action{Do: List, First: true}
}

// end ends an audit and drops its state.
func (c *Core) end(err error) Action {
	a := Action{Do: Done, Err: err, Unmended: len(c.unmended)}
	k := c.kept
	if err == nil {
		k = kept{repaired: c.unmended} // the other findings are repaired
	}
	*c = Core{kept: k}
	return a
}

// Fail ends an audit that cannot continue.
func (c *Core) Fail(err error) Action { return c.end(err) }

// Item is called for each object of a page, with the state that is stored. key is empty if the name
// is not readable.
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

// candidate records an object if its states differ, unless the last repair did not help.
func (c *Core) candidate(l Lost) {
	if !differs(l.Held, l.Listed) {
		return
	}
	if _, known := c.repaired[l.finding()]; known {
		c.unmended[l.finding()] = struct{}{}
	} else if len(c.found) < maxDiffer {
		c.found[l.Key] = l
	}
}

// Page is called at the end of a page. It reads held after the last page only.
func (c *Core) Page(now time.Time, version, next string, w Watch, held Holding) Action {
	if c.firstVersion == "" {
		c.firstVersion = version
	}
	switch {
	case version == "":
		return c.end(errors.New("the list has no resourceVersion"))
	case w.Lists != c.began.Lists:
		return c.end(ErrVoid)
	case !c.began.Unordered && before(version, c.watchAtStart):
		return c.end(ErrOlder)
	case next != "":
		if err := c.pages.Next(next); err != nil {
			return c.end(err)
		}
		pause := min(3*now.Sub(c.requested), maxPause, maxPauses-c.paused) // so listing takes a quarter of the time
		c.requested, c.paused = now.Add(pause), c.paused+pause
		return Action{Do: List, Continue: next, Pause: pause}
	}
	if c.second {
		c.confirm()
	} else {
		c.compare(held)
	}
	if len(c.unmended) >= maxUnmended {
		return c.end(ErrUnlike)
	}
	c.version, c.ended, c.watchVersion, c.watchSince = version, now, w.Version, now
	return c.look(now, w, held)
}

// compare finds stored objects that were not listed. One that is newer than the list was created
// later.
func (c *Core) compare(held Holding) {
	slices.Sort(c.keys)
	for key, s := range held.All() {
		if c.unnamed {
			break // the unreadable object may be any of them
		}
		if _, listed := slices.BinarySearch(c.keys, hash(key)); listed {
			continue
		}
		if c.began.Unordered || !before(c.firstVersion, s.Version) {
			c.candidate(Lost{Key: key, Held: s})
		}
	}
	c.keys = nil
}

// confirm drops the findings that the second list does not confirm.
func (c *Core) confirm() {
	for key, l := range c.found {
		s := c.relisted[key]
		same := s.There == l.Listed.There && s.UID == l.Listed.UID && (s.There || !c.unnamed)
		if c.began.Selected && !l.Held.There && s.Version != l.Listed.Version {
			same = false // it may have left the selection in the meantime, and returned
		}
		if l.Listed = s; same && differs(l.Held, s) {
			c.found[key] = l
		} else {
			delete(c.found, key)
		}
	}
}

// Look checks the differences once more, after a list.
func (c *Core) Look(now time.Time, w Watch, held Holding) Action { return c.look(now, w, held) }

func (c *Core) look(now time.Time, w Watch, held Holding) Action {
	if w.Lists != c.began.Lists {
		return c.end(ErrVoid)
	}
	for key, l := range c.found {
		if held.State(key) != l.Held { // the watch still changes it
			delete(c.found, key)
		}
	}
	if len(c.found) == 0 {
		return c.end(nil)
	}
	if w.Version != c.watchVersion {
		c.watchVersion, c.watchSince = w.Version, now
	}
	switch {
	case !w.Good || !c.passed(now, w):
		if now.Sub(c.ended) < maxBehind {
			return Action{Do: Look, Pause: lookInterval}
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

// passed reports whether the watch has shown every event up to the version of the list. If versions
// cannot be compared, two minutes must suffice.
func (c *Core) passed(now time.Time, w Watch) bool {
	order, ok := object.CompareVersions(w.Version, c.version)
	switch {
	case w.Unordered || !ok:
		return now.Sub(c.ended) >= silenceLimit
	case order >= 0:
		return true
	}
	return now.Sub(c.watchSince) >= silenceLimit
}

// repair ends the audit and remembers its findings. An object that differs in the same way after
// the relist is not repaired again.
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
