package reflector

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// change is one entry in the history of a world: name is at version, or gone since.
type change struct {
	version int
	name    string
	gone    bool
}

// world is an API server as a Core sees one: a history, of which only a part can be watched, and
// every way to fail.
type world struct {
	t       *rapid.T
	version int
	history []change
	compact int // events up to this version are forgotten
	faults  bool
	streams bool // knows streaming lists

	// What is open.
	page    []change // of a list, still to come
	listAt  int
	next    string // the token after this page
	pos     int    // of a watch: events up to this version were sent
	initial []change
	endDue  bool
	watch   bool
	down    bool // what was open is not any more

	restores int
	seen     func() int // how far the Core is
}

func (w *world) at(version int) map[string]int {
	m := map[string]int{}
	for _, c := range w.history {
		if c.version > version {
			break
		}
		if c.gone {
			delete(m, c.name)
		} else {
			m[c.name] = c.version
		}
	}
	return m
}

func (w *world) items(version int) []change {
	m := w.at(version)
	var out []change
	for i := range 8 {
		if name := strconv.Itoa(i); m[name] != 0 {
			out = append(out, change{version: m[name], name: name})
		}
	}
	return out
}

// write makes a change. After a restore none is made until the sink has noticed it: once the
// versions of the new history have passed those of the old, nothing would tell the two apart.
func (w *world) write() {
	if w.seen() > w.version {
		return
	}
	name := strconv.Itoa(rapid.IntRange(0, 7).Draw(w.t, "name"))
	gone := rapid.IntRange(0, 2).Draw(w.t, "op") == 0
	if gone && w.at(w.version)[name] == 0 {
		return
	}
	w.version += rapid.IntRange(1, 3).Draw(w.t, "step") // other kinds use up versions as well
	w.history = append(w.history, change{w.version, name, gone})
}

// restore takes the server back to an older version, where another history begins.
func (w *world) restore() bool {
	if len(w.history) < 3 || w.restores > 0 {
		return false
	}
	w.restores++
	w.history = w.history[:len(w.history)/2]
	w.version = w.history[len(w.history)-1].version
	w.compact = min(w.compact, w.version)
	w.down = true
	return true
}

var failures = []string{"reset", "cut", "garbage", "500", "503", "429", "410"}

// answer plays what the server does for an action.
func (w *world) answer(a action) input {
	fail := w.faults && rapid.IntRange(0, 5).Draw(w.t, "fail") == 0
	if a.do != doRead {
		w.watch, w.page, w.endDue, w.initial, w.down = false, nil, false, nil, false
	}
	if w.down {
		return input{event: ended, err: scriptedError([]string{"reset"})}
	}
	if fail && a.do != doWait {
		f := rapid.SampledFrom(failures).Draw(w.t, "failure")
		if f == "410" && a.do == doProbe {
			f = "503"
		}
		return input{event: ended, err: scriptedError([]string{f})}
	}
	switch a.do {
	case doWait:
		return input{event: timedOut}
	case doList, doProbe:
		return w.openList(a)
	case doWatch:
		return w.openWatch(a)
	}
	if w.watch {
		return w.frame()
	}
	if len(w.page) > 0 {
		c := w.page[0]
		w.page = w.page[1:]
		return input{event: itemCame, entry: entry(c)}
	}
	return input{event: pageCame, version: strconv.Itoa(w.listAt), cont: w.next}
}

func (w *world) openList(a action) input {
	w.listAt, w.next = w.version, ""
	from := 0
	switch {
	case a.cont != "":
		epoch := 0
		fmt.Sscanf(a.cont, "%d-%d-%d", &epoch, &w.listAt, &from)
		if w.listAt < w.compact || epoch != w.restores {
			return input{event: ended, err: scriptedError([]string{"410"})}
		}
	case a.version != "":
		v, _ := strconv.Atoi(a.version)
		if v > w.version {
			return input{event: ended, err: scriptedError([]string{"504", "type"})}
		}
		w.listAt = rapid.IntRange(max(v, w.compact), w.version).Draw(w.t, "not older")
	}
	w.page = w.items(w.listAt)[from:]
	if n := int(a.limit); n > 0 && len(w.page) > n {
		w.page = w.page[:n]
		w.next = fmt.Sprintf("%d-%d-%d", w.restores, w.listAt, from+n)
	}
	return input{event: opened}
}

func (w *world) openWatch(a action) input {
	v, _ := strconv.Atoi(a.version)
	if a.initial {
		if !w.streams {
			return input{event: ended, err: scriptedError([]string{"422"})}
		}
		if v > w.version {
			return input{event: ended, err: scriptedError([]string{"504", "type"})}
		}
		w.initial, w.pos, w.endDue = w.items(w.version), w.version, true
	} else {
		if v < w.compact {
			return input{event: ended, err: scriptedError([]string{"410"})}
		}
		w.pos = v
	}
	w.watch = true
	return input{event: opened}
}

func (w *world) frame() input {
	if len(w.initial) > 0 {
		c := w.initial[0]
		w.initial = w.initial[1:]
		return input{event: frameCame, what: wire.Added, entry: entry(c)}
	}
	if w.endDue {
		w.endDue = false
		return input{event: frameCame, what: wire.Bookmark, version: strconv.Itoa(w.pos), initialEnd: true}
	}
	for _, c := range w.history {
		if c.version > w.pos {
			w.pos = c.version
			if c.gone {
				return input{event: frameCame, what: wire.Deleted, entry: entry(c)}
			}
			return input{event: frameCame, what: wire.Modified, entry: entry(c)}
		}
	}
	switch rapid.IntRange(0, 3).Draw(w.t, "quiet") {
	case 0:
		w.watch = false
		return input{event: ended}
	case 1:
		if w.pos < w.version { // a server says nothing about versions before that of the watch
			w.pos = w.version
			return input{event: frameCame, what: wire.Bookmark, version: strconv.Itoa(w.pos)}
		}
	}
	return input{event: timedOut}
}

func entry(c change) *store.Entry {
	return store.Rejected(object.Header{Key: object.Key{Name: c.name}, ResourceVersion: strconv.Itoa(c.version)}, nil)
}

// mirror is a sink that checks what it is told.
type mirror struct {
	content, building map[string]int
	replacing, reset  bool
	version           int
	err               error
}

func (m *mirror) take(e *Update, w *world) {
	fail := func(format string, args ...any) {
		if m.err == nil {
			m.err = fmt.Errorf("%s: %s", showUpdate(e), fmt.Sprintf(format, args...))
		}
	}
	into := m.content
	if m.replacing {
		into = m.building
	}
	switch e.What {
	case Replace:
		if m.replacing {
			fail("a replacement is open")
		}
		m.replacing, m.reset, m.building = true, e.Reset, map[string]int{}
	case Put, Delete:
		name := e.Entry.Header().Name
		v, _ := strconv.Atoi(e.Entry.Header().ResourceVersion)
		if into[name] > v {
			fail("%s was at %d", name, into[name])
		}
		if !m.replacing && v < m.version {
			fail("the sink is at %d", m.version)
		}
		if into[name] = v; e.What == Delete {
			delete(into, name)
		}
		if !m.replacing {
			m.version = v
		}
	case Sweep:
		if !m.replacing {
			fail("no replacement is open")
		}
		v, _ := strconv.Atoi(e.Version)
		if v < m.version && !m.reset {
			fail("the sink is at %d", m.version)
		}
		if want := w.at(v); !maps.Equal(m.building, want) {
			fail("content %v, want %v", m.building, want)
		}
		m.replacing, m.content, m.version = false, m.building, v
	case Discard:
		if !m.replacing {
			fail("no replacement is open")
		}
		m.replacing = false
	}
}

// TestCoreFollowsARandomServer lets a Core follow a random server through every failure, and checks what the sink is
// told: each completed content is that of one version, versions never go back unless the server
// itself did, and in the end the sink has what the server has.
func TestCoreFollowsARandomServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, version: 1, faults: true, streams: rapid.Bool().Draw(t, "streams")}
		restores := rapid.IntRange(0, 3).Draw(t, "restores") == 0
		core := newCore(Options{PageSize: int64(rapid.IntRange(1, 9).Draw(t, "page size"))})
		m := &mirror{content: map[string]int{}}
		w.seen = func() int {
			v, _ := strconv.Atoi(core.State().ResourceVersion)
			return v
		}
		now := time.Unix(0, 0)
		in := input{event: started}
		var next action
		step := func() {
			out := core.Step(now, rapid.Float64Range(0, 0.999).Draw(t, "random"), in)
			for i := range out.updates {
				m.take(&out.updates[i], w)
			}
			if m.err != nil {
				t.Fatal(m.err)
			}
			next = out.next
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
			if in = w.answer(next); in.event == timedOut {
				if next.until.IsZero() {
					t.Fatalf("%v waits for ever", next)
				}
				if now.Before(next.until) {
					now = next.until
				}
			}
		}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "do") {
			case 0, 1:
				w.write()
			case 2:
				if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
					w.compact = max(w.compact, rapid.IntRange(0, w.version).Draw(t, "compact"))
				}
			case 3:
				if restores && w.restore() && next.do != 0 && next.do != doWait {
					in = input{event: ended, err: scriptedError([]string{"reset"})} // nothing of before arrives
				}
			default:
				step()
			}
		}
		w.faults = false
		start := now
		for ; ; step() {
			done := core.State().HasSynced && !m.replacing && maps.Equal(m.content, w.at(w.version)) && m.version <= w.version
			if done && w.pos >= w.version && next.do == doRead {
				return
			}
			if now.Sub(start) > 30*time.Minute {
				t.Fatalf("history %v, after %v: sink at %d %v, server at %d %v, %+v, next %v", w.history, now.Sub(start), m.version, m.content, w.version, w.at(w.version), core.State(), next)
			}
		}
	})
}

func TestStopAborts(t *testing.T) {
	c := newCore(Options{Paged: true})
	now := time.Unix(0, 0)
	c.Step(now, 0, input{event: started})
	c.Step(now, 0, input{event: opened})
	cause := errors.New("enough")
	out := c.Step(now, 0, input{event: stopAsked, err: cause})
	if len(out.updates) != 1 || out.updates[0].What != Discard || out.next.do != doHalt {
		t.Errorf("%v, %v", out.updates, out.next)
	}
	if s := c.State(); s.Phase != Stopped || s.Err != cause {
		t.Errorf("%+v", s)
	}
}
