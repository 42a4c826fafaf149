package audit

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// content is a set of stored or listed states, by name.
type content map[object.Key]State

func (c content) State(key object.Key) State { return c[key] }

func (c content) All() iter.Seq2[object.Key, State] { return maps.All(c) }

// parse reads "a=uid@version b?": an object a, and an object b with only its key known.
func parse(text string) content {
	c := content{}
	for f := range strings.FieldsSeq(text) {
		name, state, ok := strings.Cut(f, "=")
		uid, version, _ := strings.Cut(state, "@")
		s := State{There: true, UID: types.UID(uid), Version: version}
		if !ok {
			s = State{There: true, Named: true}
		}
		c[object.Key{Name: strings.TrimSuffix(name, "?")}] = s
	}
	return c
}

// list is one list of metadata: its version, the listed states, and the states stored at that time.
type list struct{ version, listed, held string }

// TestAuditFindsLostEventsOnly runs audits with given lists and stored states, and positions of the
// watch.
func TestAuditFindsLostEventsOnly(t *testing.T) {
	tests := []struct {
		name      string
		first     list
		then      string // stored when the watch has passed the first list; "": unchanged
		second    list   // zero: there is none
		last      string // stored when the watch has passed the second list; "": unchanged
		unordered bool
		selected  bool
		want      string // lost
		err       error
	}{
		{name: "nothing differs", first: list{"9", "a=1@3 b=2@4", "a=1@3 b=2@4"}},
		{name: "no object", first: list{"9", "", ""}},
		{name: "held is newer", first: list{"9", "a=1@3", "a=1@12"}},
		{name: "made since", first: list{"9", "", "a=1@12"}},
		{name: "the name alone is known", first: list{"9", "a=1@3 b?", "a? b=2@4"}},
		{name: "a list without versions", first: list{"9", "a=1@", "a=1@4"}},

		{name: "DELETED", first: list{"9", "b=2@4", "a=1@3 b=2@4"}, second: list{"12", "b=2@4", "a=1@3 b=2@4"}, want: "a (deleted)"},
		{name: "DELETED of what cannot be read", first: list{"9", "", "a?"}, second: list{"12", "", "a?"}, want: "a (deleted)"},
		{name: "MODIFIED", first: list{"9", "a=1@5", "a=1@3"}, second: list{"12", "a=1@5", "a=1@3"}, want: "a (modified)"},
		{name: "MODIFIED, and it goes on", first: list{"9", "a=1@5", "a=1@3"}, second: list{"12", "a=1@11", "a=1@3"}, want: "a (modified)"},
		{name: "ADDED", first: list{"9", "a=1@5", ""}, second: list{"12", "a=1@5", ""}, want: "a (added)"},
		{name: "replaced", first: list{"9", "a=2@5", "a=1@3"}, second: list{"12", "a=2@5", "a=1@3"}, want: "a (replaced)"},
		{name: "several", first: list{"9", "a=1@5 b=2@6", "c=3@4"}, second: list{"12", "a=1@5 b=2@6", "c=3@4"}, want: "a (added) b (added) c (deleted)"},

		{name: "the watch comes with it", first: list{"9", "a=1@5 b=2@6", "c=3@4 b=2@5"}, then: "a=1@5 b=2@6"},
		{name: "comes with something else of it", first: list{"9", "a=1@5", "a=1@3"}, then: "a=1@4"},
		{name: "deleted after the list", first: list{"9", "a=1@5", ""}, second: list{"12", "", ""}},
		{name: "deleted and made again", first: list{"9", "a=1@5", ""}, second: list{"12", "a=2@11", ""}},
		{name: "made after the first list, in no order", unordered: true, first: list{"9", "", "a=1@12"}, second: list{"12", "a=1@12", "a=1@12"}},
		{name: "lost, in no order", unordered: true, first: list{"9", "", "a=1@12"}, second: list{"12", "", "a=1@12"}, want: "a (deleted)"},
		{name: "the watch comes late", first: list{"9", "a=1@5", ""}, second: list{"12", "a=1@5", ""}, last: "a=1@5"},
		{name: "another object is missing", first: list{"9", "a=1@5", ""}, second: list{"12", "a=1@5 b=2@3", ""}, want: "a (added)"},
		{name: "left the selection and came back", selected: true, first: list{"9", "a=1@5", ""}, second: list{"12", "a=1@11", ""}},
		{name: "did not leave the selection", selected: true, first: list{"9", "a=1@5 b=1@7", "b=1@6"}, second: list{"12", "a=1@5 b=1@11", "b=1@6"}, want: "a (added) b (modified)"},

		{name: "an object without a name", first: list{"9", "?=1@5", "a=1@3"}},
		{name: "an older list", first: list{"3", "", "a=1@3"}, err: ErrOlder},
		{name: "an older second list", first: list{"9", "a=1@5", ""}, second: list{"5", "a=1@5", ""}, err: ErrOlder},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Core
			now := time.Unix(0, 0)
			w := Watch{Good: true, Lists: 1, Version: "5", Unordered: tt.unordered, Selected: tt.selected}
			a := c.Begin(now, w, 2)
			for n, l := range []list{tt.first, tt.second} {
				if a.Do != List || !a.First {
					break
				}
				if l.version == "" {
					t.Fatal("there is another list")
				}
				held := parse(l.held)
				for key, s := range parse(l.listed) {
					c.Item(key, s, held.State(key))
				}
				a = c.Page(now, l.version, "", w, held)
				if a.Do == Look {
					now = now.Add(a.Pause)
					a = c.Look(now, w, held) // the watch has not passed the list yet
				}
				if text := []string{tt.then, tt.last}[n]; text != "" {
					held = parse(text)
				}
				if a.Do == Look {
					w.Version = l.version
					now = now.Add(3 * time.Minute)
					a = c.Look(now, w, held)
				}
			}
			var lost []string
			for _, l := range a.Lost {
				lost = append(lost, strings.TrimPrefix(l.String(), "/"))
			}
			want := Done
			if tt.want != "" {
				want = Repair
			}
			if got := strings.Join(lost, " "); got != tt.want || !errors.Is(a.Err, tt.err) || a.Err != nil && tt.err == nil || a.Do != want {
				t.Errorf("lost %q, %+v", got, a)
			}
		})
	}
}

// An audit waits for the watch to pass its list: as long as the watch moves, or two minutes if it
// does not. A relist in the meantime, or the loss of the watch, makes the audit void.
func TestAuditWaitsForTheWatch(t *testing.T) {
	for name, tt := range map[string]struct {
		watch func(at time.Duration, w *Watch)
		until time.Duration
		want  Do
		err   error
	}{
		"passes at once":      {func(_ time.Duration, w *Watch) { w.Version = "9" }, 0, List, nil},
		"passes":              {func(at time.Duration, w *Watch) { w.Version = fmt.Sprint(5 + int(at.Minutes())) }, 4 * time.Minute, List, nil},
		"stands still":        {func(time.Duration, *Watch) {}, 2 * time.Minute, List, nil},
		"has no order":        {func(at time.Duration, w *Watch) { w.Version, w.Unordered = fmt.Sprint(at), true }, 2 * time.Minute, List, nil},
		"crawls":              {func(at time.Duration, w *Watch) { w.Version = fmt.Sprint(1 + int(at.Minutes())/2) }, 10 * time.Minute, Done, ErrBehind},
		"is lost":             {func(_ time.Duration, w *Watch) { w.Good = false }, 10 * time.Minute, Done, ErrVoid},
		"is lost for a while": {func(at time.Duration, w *Watch) { w.Good = at > 5*time.Minute; w.Version = "9" }, 5*time.Minute + time.Second, List, nil},
		"content was listed":  {func(at time.Duration, w *Watch) { w.Lists += uint64(at / time.Minute) }, time.Minute, Done, ErrVoid},
	} {
		t.Run(name, func(t *testing.T) {
			var c Core
			begin := time.Unix(0, 0)
			w := Watch{Good: true, Lists: 1, Version: "5"}
			c.Begin(begin, w, 1)
			held := content{}
			c.Item(object.Key{Name: "a"}, State{There: true, UID: "1", Version: "5"}, State{})
			now := begin
			observe := func() Watch { s := w; tt.watch(now.Sub(begin), &s); return s }
			a := c.Page(now, "9", "", observe(), held)
			for a.Do == Look {
				now = now.Add(a.Pause)
				a = c.Look(now, observe(), held)
			}
			if took := now.Sub(begin); took != tt.until || a.Do != tt.want || !errors.Is(a.Err, tt.err) {
				t.Errorf("after %v: %+v", took, a)
			}
		})
	}
}

// Without a watch no audit begins. A list that fails, has no version or repeats its pages ends the
// audit.
func TestUnusableListsEndTheAudit(t *testing.T) {
	w := Watch{Good: true, Lists: 1, Version: "5"}
	var c Core
	now := time.Unix(0, 0)
	if a := c.Begin(now, Watch{}, 0); a.Do != Done || a.Err != ErrVoid {
		t.Errorf("without a watch: %+v", a)
	}
	c.Begin(now, w, 0)
	if a := c.Page(now, "", "", w, content{}); a.Do != Done || a.Err == nil {
		t.Errorf("without a version: %+v", a)
	}
	var paused time.Duration
	a := c.Begin(now, w, 0)
	for i := range 1000 {
		paused += a.Pause
		now = now.Add(a.Pause + 10*time.Second)
		c.Item(object.Key{Name: fmt.Sprint(i)}, State{There: true}, State{There: true})
		if a = c.Page(now, "9", fmt.Sprint("token", i), w, content{}); a.Do != List {
			t.Fatalf("%d: %+v", i, a)
		}
	}
	if paused != maxPauses {
		t.Errorf("%v between a thousand pages", paused)
	}
	c.Begin(now, w, 0)
	a = Action{Do: List}
	for i := 0; a.Do == List; i++ {
		if i > 3 {
			t.Fatal("the same page for ever")
		}
		a = c.Page(now.Add(time.Hour), "9", "token", w, content{})
		if a.Pause > time.Second {
			t.Errorf("a pause of %v", a.Pause)
		}
	}
	if a.Err == nil || Unfit(a.Err) || Void(a.Err) {
		t.Errorf("the same token: %+v", a)
	}
	if a := c.Fail(ErrNoMetadata); a.Do != Done || !Unfit(a.Err) {
		t.Errorf("%+v", a)
	}
}

// A finding that a repair did not fix is not repaired again; a later one is. A fixed one is
// forgotten.
func TestUnrepairedFindingsAreNotRepairedAgain(t *testing.T) {
	var c Core
	now, lists := time.Unix(0, 0), uint64(0)
	audit := func(listed, held string) Action {
		lists++
		w := Watch{Good: true, Lists: lists, Version: "9"}
		a := c.Begin(now, w, 1)
		for a.Do == List {
			for key, s := range parse(listed) {
				c.Item(key, s, parse(held).State(key))
			}
			a = c.Page(now, "9", "", w, parse(held))
		}
		return a
	}
	for i, step := range []struct {
		listed, held   string
		lost, unmended int
	}{
		{"a=1@5 b=2@6", "", 2, 0},
		{"a=1@5 b=2@6", "b=2@6", 0, 1},
		{"a=1@7 b=2@8", "b=2@6", 1, 1},
		{"a=1@7 b=2@8", "b=2@8", 0, 1},
		{"a=1@7 b=2@8", "a=1@7 b=2@8", 0, 0},
		{"a=1@7 b=2@8", "b=2@8", 1, 0},
	} {
		if a := audit(step.listed, step.held); len(a.Lost) != step.lost || a.Unmended != step.unmended || a.Err != nil {
			t.Errorf("%d: %+v", i, a)
		}
	}
	// If every object differs from its metadata, audits end with an error.
	var listed strings.Builder
	for i := range 2 * maxDiffer {
		fmt.Fprintf(&listed, "o%d=1@5 ", i)
	}
	if a := audit(listed.String(), ""); len(a.Lost) != maxDiffer {
		t.Errorf("%d lost", len(a.Lost))
	}
	for range 3 {
		if a := audit(listed.String(), ""); Unfit(a.Err) {
			return
		}
	}
	t.Error("it goes on")
}

// A repair without a relist does not count: the next audit requests it again.
func TestRepairWithoutARelistIsRequestedAgain(t *testing.T) {
	var c Core
	now := time.Unix(0, 0)
	for i, step := range []struct {
		lists          uint64
		lost, unmended int
	}{{1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {2, 0, 1}, {2, 0, 1}} {
		w := Watch{Good: true, Lists: step.lists, Version: "9"}
		c.Begin(now, Watch{}, 1) // a void audit changes nothing
		a := c.Begin(now, w, 1)
		for a.Do == List {
			c.Item(object.Key{Name: "a"}, State{There: true, UID: "1", Version: "5"}, State{})
			a = c.Page(now, "9", "", w, content{})
		}
		if len(a.Lost) != step.lost || a.Unmended != step.unmended {
			t.Errorf("%d: %+v", i, a)
		}
	}
}

// Audits are spread over a quarter of the period, and a void one is repeated soon.
func TestAuditsAreSpreadOverThePeriod(t *testing.T) {
	now := time.Unix(0, 0)
	for _, tt := range []struct {
		err    error
		random float64
		want   time.Duration
	}{
		{nil, 0, 6 * time.Hour},
		{nil, 0.5, 5*time.Hour + 15*time.Minute},
		{nil, 1, 4*time.Hour + 30*time.Minute},
		{errors.New("no"), 0, 6 * time.Hour},
		{ErrVoid, 0, 45 * time.Minute},
		{ErrOlder, 0, 6 * time.Hour},
		{ErrNoMetadata, 0, 24 * time.Hour},
		{ErrUnlike, 1, 18 * time.Hour},
	} {
		if got := Next(now, 6*time.Hour, tt.err, tt.random).Sub(now); got != tt.want {
			t.Errorf("%v, %v: %v, want %v", tt.err, tt.random, got, tt.want)
		}
	}
}
