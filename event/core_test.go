package event

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

func testCore(l Limits) *core { return newCore(l, func() float64 { return 0 }) }

func of(name string, t Type, reason string) Event {
	return Event{Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: name}, Type: t, Reason: reason}
}

// send takes every series that can be sent now, as "name reason ×count", and reports each as Done.
func send(c *core, now time.Time) string {
	var out []string
	for {
		s := c.Step(now, input{}).send
		if s == nil {
			return strings.Join(out, ", ")
		}
		verb := "create"
		if s.created() {
			verb = "update"
		}
		out = append(out, fmt.Sprintf("%s %s %s ×%d", verb, s.event.Regarding.Name, s.event.Reason, s.count))
		c.Step(now, input{kind: answered, outcome: done})
	}
}

func TestRepeatsJoinASeries(t *testing.T) {
	c := testCore(Limits{})
	now := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	check := func(when time.Time, want string) {
		t.Helper()
		if got := send(c, when); got != want {
			t.Errorf("at %v: %s, want %s", when.Sub(now), got, want)
		}
	}
	c.Step(now, input{kind: recorded, event: of("a", Normal, "Scaled")})
	check(now, "create a Scaled ×1")
	c.Step(at(time.Second), input{kind: recorded, event: of("a", Normal, "Scaled")})
	check(at(time.Second), "update a Scaled ×2") // the first repeat is sent at once
	for i := range 100 {
		c.Step(at(2*time.Second+time.Duration(i)), input{kind: recorded, event: of("a", Normal, "Scaled")})
	}
	check(at(2*time.Second), "") // later repeats are collected
	check(at(31*time.Second), "update a Scaled ×102")
	c.Step(at(40*time.Second), input{kind: recorded, event: of("a", Warning, "Scaled")}) // another type is another series
	c.Step(at(40*time.Second), input{kind: recorded, event: of("b", Normal, "Scaled")})
	check(at(40*time.Second), "create a Scaled ×1, create b Scaled ×1")
	check(at(10*time.Minute), "")
	if st := c.currentStats(); st.Remembered != 0 || st.Sent != 104 || st.Recorded != 104 {
		t.Errorf("%+v", st)
	}
	c.Step(at(20*time.Minute), input{kind: recorded, event: of("a", Normal, "Scaled")}) // the series has been forgotten: a new one
	check(at(20*time.Minute), "create a Scaled ×1")
}

func TestRepeatsBeforeCreation(t *testing.T) {
	c := testCore(Limits{})
	now := time.Unix(1000, 0)
	for range 5 {
		c.Step(now, input{kind: recorded, event: of("a", Normal, "Scaled")})
	}
	if got := send(c, now); got != "create a Scaled ×5" {
		t.Error(got)
	}
}

func TestWarningsGoFirstAndStay(t *testing.T) {
	c := testCore(Limits{Queue: 3})
	now := time.Unix(1000, 0)
	for _, e := range []Event{
		of("a", Normal, "N"), of("b", Normal, "N"), of("c", Normal, "N"),
		of("d", Normal, "N"),                         // the queue is full
		of("e", Warning, "W"),                        // replaces a
		of("f", Warning, "W"), of("g", Warning, "W"), // replace b and c
		of("h", Warning, "W"), // no Normal is left to replace
		of("g", Warning, "W"), // is a repeat and needs no room
	} {
		c.Step(now, input{kind: recorded, event: e})
	}
	if got := send(c, now); got != "create e W ×1, create f W ×1, create g W ×2" {
		t.Error(got)
	}
	if st := c.currentStats(); st.Dropped != 5 || st.Recorded != 9 || st.Sent != 4 {
		t.Errorf("%+v", st)
	}
}

func TestRateIsBounded(t *testing.T) {
	c := testCore(Limits{Rate: 2, Burst: 3})
	now := time.Unix(1000, 0)
	for i := range 20 {
		c.Step(now, input{kind: recorded, event: of(fmt.Sprint(i), Normal, "N")})
	}
	if got := strings.Count(send(c, now), "create"); got != 3 {
		t.Errorf("%d at once", got)
	}
	if out := c.Step(now, input{}); out.send != nil || !out.until.After(now) || out.until.Sub(now) > time.Second {
		t.Errorf("then %+v", out)
	}
	n := 0
	for i := range 40 {
		n += strings.Count(send(c, now.Add(time.Duration(i)*100*time.Millisecond)), "create")
	}
	if n < 7 || n > 9 {
		t.Errorf("%d in 4 s", n)
	}
}

func TestOutcomesDecideTheNextAttempt(t *testing.T) {
	now := time.Unix(1000, 0)
	c := testCore(Limits{Attempts: 3})
	c.Step(now, input{kind: recorded, event: of("a", Normal, "N")})
	c.Step(now, input{kind: recorded, event: of("b", Normal, "N")})
	next := func() *series {
		t.Helper()
		s := c.Step(now, input{}).send
		if s == nil {
			t.Fatal("nothing to send")
		}
		return s
	}
	first := next()
	if c.Step(now, input{}).send != nil {
		t.Error("a second one was handed out")
	}
	c.Step(now, input{kind: answered, outcome: failed, after: 7 * time.Second})
	if out := c.Step(now, input{}); out.send != nil || out.until.Sub(now) != 7*time.Second {
		t.Errorf("%+v", out)
	}
	now = now.Add(7 * time.Second)
	if s := next(); s.name != first.name || s.attempts == 0 {
		t.Errorf("after Again: %+v", s)
	}
	c.Step(now, input{kind: answered, outcome: missing}) // the name was taken
	if s := next(); s.name == first.name || s.event.Regarding.Name != "a" {
		t.Errorf("after Missing: %+v", s)
	}
	c.Step(now, input{kind: answered, outcome: failed}) // the third failure
	if st := c.currentStats(); st.Dropped != 1 {
		t.Errorf("%+v", st)
	}
	now = now.Add(time.Minute)
	if s := next(); s.event.Regarding.Name != "b" {
		t.Errorf("%+v", s)
	}
	c.Step(now, input{kind: answered, outcome: done})
	c.Step(now, input{kind: recorded, event: of("b", Normal, "N")})
	if s := next(); !s.created() || s.count != 2 {
		t.Errorf("%+v", s)
	}
	c.Step(now, input{kind: answered, outcome: missing}) // it has expired on the server
	if s := next(); s.created() || s.count != 1 {
		t.Errorf("after it expired: %+v", s)
	}
	c.Step(now, input{kind: answered, outcome: drop})
	if st := c.currentStats(); st.Recorded != 3 || st.Sent != 1 || st.Dropped != 2 || st.Remembered != 0 {
		t.Errorf("%+v", st)
	}
}

// Every event is accounted for, and the number of series is bounded, under random operations.
func TestEveryEventIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := testCore(Limits{
			Queue: rapid.IntRange(1, 4).Draw(t, "queue"), Series: rapid.IntRange(1, 4).Draw(t, "series"),
			Rate: 1, Burst: rapid.IntRange(1, 9).Draw(t, "burst"),
		})
		now := time.Unix(1000, 0)
		sentCounts := map[string]int{} // count on the server, by name
		types := rapid.SampledFrom([]Type{Normal, Warning})
		names := map[string]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				st := c.currentStats()
				if st.Recorded != st.Sent+st.Dropped+st.Unsent {
					t.Fatalf("%+v", st)
				}
				// Besides the queued series, repeats may be ready, and one request may be open.
				if most := c.limits.Queue + c.limits.Series + 1; st.Remembered > 2*most {
					t.Fatalf("%d remembered: %+v", st.Remembered, st)
				}
				sum := 0
				for _, n := range sentCounts {
					sum += n
				}
				if sum != st.Sent {
					t.Fatalf("the server has %d: %+v", sum, st)
				}
			},
			"add": func(t *rapid.T) {
				c.Step(now, input{kind: recorded, event: of(rapid.StringMatching("[a-f]").Draw(t, "name"), types.Draw(t, "type"), "R")})
			},
			"pass": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "s")) * time.Second)
			},
			"send": func(t *rapid.T) {
				s := c.Step(now, input{}).send
				if s == nil {
					return
				}
				o := rapid.SampledFrom([]outcome{done, done, done, failed, missing, drop}).Draw(t, "outcome")
				if o == done {
					if s.created() != names[s.name] {
						t.Fatalf("created %v, the server has it: %v", s.created(), names[s.name])
					}
					names[s.name], sentCounts[s.name] = true, s.count
				}
				c.Step(now, input{kind: answered, outcome: o})
			},
			"flush": func(t *rapid.T) { c.Step(now, input{kind: flush}) },
		})
		c.Step(now, input{kind: closed})
		if st := c.currentStats(); st.Unsent != 0 || st.Remembered != 0 || st.Waiting != 0 || st.Recorded != st.Sent+st.Dropped {
			t.Fatalf("after Close: %+v", st)
		}
	})
}

func TestEventsFitTheLimitsOfTheAPI(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	for _, e := range []Event{
		{}, {Type: "Bad", Reason: long, Action: long, Note: long},
		{Note: "bad \xff bytes"}, {Note: strings.Repeat("\xff", 5000)}, {Note: strings.Repeat("x", 1024)}, {Note: strings.Repeat("x", 1025)},
	} {
		f := e.fit()
		if f.Type != Normal || f.Reason == "" || f.Action == "" || len(f.Reason) > 128 || len(f.Action) > 128 || len(f.Note) > 1024 {
			t.Errorf("%d %d %d of %+v", len(f.Reason), len(f.Action), len(f.Note), f)
		}
		if !utf8.ValidString(f.Note) || !utf8.ValidString(f.Reason) {
			t.Errorf("invalid UTF-8: %q", f.Note)
		}
	}
	if got := cut(strings.Repeat("x", 1024), 1024); strings.Contains(got, "…") {
		t.Error("what fits was cut")
	}
	if got := cut("0123456789", 8); got != "01234…" {
		t.Error(got)
	}
}

func TestObjectNamesAreValidAndUnique(t *testing.T) {
	now := time.Unix(1, 2)
	for regarding, prefix := range map[string]string{
		"web":                          "web.",
		"system:node:x":                "event.",
		"":                             "event.",
		strings.Repeat("a.", 200):      "a.a.",
		strings.Repeat("a", 250) + "-": "aaaa",
	} {
		n := name(regarding, now, 7)
		if !strings.HasPrefix(n, prefix) || len(validation.NameIsDNSSubdomain(n, false)) > 0 {
			t.Errorf("%q: %q", regarding, n)
		}
	}
}
