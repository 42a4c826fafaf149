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
)

func of(name string, t Type, reason string) Event {
	return Event{Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: name}, Type: t, Reason: reason}
}

// send takes every series that can be sent now, as "name reason ×count", and reports each as Done.
func send(c *Core, now time.Time) string {
	var out []string
	for {
		s, ok, _ := c.Next(now)
		if !ok {
			return strings.Join(out, ", ")
		}
		verb := "create"
		if s.Created() {
			verb = "update"
		}
		out = append(out, fmt.Sprintf("%s %s %s ×%d", verb, s.Event.Regarding.Name, s.Event.Reason, s.Count))
		c.Report(now, 0, Done, 0)
	}
}

func TestRepeatsJoinASeries(t *testing.T) {
	c := NewCore(Limits{})
	now := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	check := func(when time.Time, want string) {
		t.Helper()
		if got := send(c, when); got != want {
			t.Errorf("at %v: %s, want %s", when.Sub(now), got, want)
		}
	}
	c.Add(now, of("a", Normal, "Scaled"))
	check(now, "create a Scaled ×1")
	c.Add(at(time.Second), of("a", Normal, "Scaled"))
	check(at(time.Second), "update a Scaled ×2") // the first repeat is sent at once
	for i := range 100 {
		c.Add(at(2*time.Second+time.Duration(i)), of("a", Normal, "Scaled"))
	}
	check(at(2*time.Second), "") // later repeats are collected
	check(at(31*time.Second), "update a Scaled ×102")
	c.Add(at(40*time.Second), of("a", Warning, "Scaled")) // another type is another series
	c.Add(at(40*time.Second), of("b", Normal, "Scaled"))
	check(at(40*time.Second), "create a Scaled ×1, create b Scaled ×1")
	check(at(10*time.Minute), "")
	if st := c.Stats(); st.Remembered != 0 || st.Told != 104 || st.Recorded != 104 {
		t.Errorf("%+v", st)
	}
	c.Add(at(20*time.Minute), of("a", Normal, "Scaled")) // the series has been forgotten: a new one
	check(at(20*time.Minute), "create a Scaled ×1")
}

func TestRepeatsBeforeCreation(t *testing.T) {
	c := NewCore(Limits{})
	now := time.Unix(1000, 0)
	for range 5 {
		c.Add(now, of("a", Normal, "Scaled"))
	}
	if got := send(c, now); got != "create a Scaled ×5" {
		t.Error(got)
	}
}

func TestWarningsGoFirstAndStay(t *testing.T) {
	c := NewCore(Limits{Queue: 3})
	now := time.Unix(1000, 0)
	for _, e := range []Event{
		of("a", Normal, "N"), of("b", Normal, "N"), of("c", Normal, "N"),
		of("d", Normal, "N"),                         // the queue is full
		of("e", Warning, "W"),                        // replaces a
		of("f", Warning, "W"), of("g", Warning, "W"), // replace b and c
		of("h", Warning, "W"), // no Normal is left to replace
		of("g", Warning, "W"), // is a repeat and needs no room
	} {
		c.Add(now, e)
	}
	if got := send(c, now); got != "create e W ×1, create f W ×1, create g W ×2" {
		t.Error(got)
	}
	if st := c.Stats(); st.Dropped != 5 || st.Recorded != 9 || st.Told != 4 {
		t.Errorf("%+v", st)
	}
}

func TestRateIsBounded(t *testing.T) {
	c := NewCore(Limits{Rate: 2, Burst: 3})
	now := time.Unix(1000, 0)
	for i := range 20 {
		c.Add(now, of(fmt.Sprint(i), Normal, "N"))
	}
	if got := strings.Count(send(c, now), "create"); got != 3 {
		t.Errorf("%d at once", got)
	}
	if _, ok, wait := c.Next(now); ok || wait <= 0 || wait > time.Second {
		t.Errorf("then ok=%v, wait %v", ok, wait)
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
	c := NewCore(Limits{Attempts: 3})
	c.Add(now, of("a", Normal, "N"))
	c.Add(now, of("b", Normal, "N"))
	next := func() Series {
		t.Helper()
		s, ok, _ := c.Next(now)
		if !ok {
			t.Fatal("nothing to send")
		}
		return s
	}
	first := next()
	if _, ok, _ := c.Next(now); ok {
		t.Error("a second one was handed out")
	}
	c.Report(now, 0, Again, 7*time.Second)
	if _, ok, wait := c.Next(now); ok || wait != 7*time.Second {
		t.Errorf("ok=%v, wait %v", ok, wait)
	}
	now = now.Add(7 * time.Second)
	if s := next(); s.Name != first.Name || !s.Retried() {
		t.Errorf("after Again: %+v", s)
	}
	c.Report(now, 0, Missing, 0) // the name was taken
	if s := next(); s.Name == first.Name || s.Event.Regarding.Name != "a" {
		t.Errorf("after Missing: %+v", s)
	}
	c.Report(now, 0, Again, 0) // the third failure
	if st := c.Stats(); st.Dropped != 1 {
		t.Errorf("%+v", st)
	}
	now = now.Add(time.Minute)
	if s := next(); s.Event.Regarding.Name != "b" {
		t.Errorf("%+v", s)
	}
	c.Report(now, 0, Done, 0)
	c.Add(now, of("b", Normal, "N"))
	if s := next(); !s.Created() || s.Count != 2 {
		t.Errorf("%+v", s)
	}
	c.Report(now, 0, Missing, 0) // it has expired on the server
	if s := next(); s.Created() || s.Count != 1 {
		t.Errorf("after it expired: %+v", s)
	}
	c.Report(now, 0, Drop, 0)
	if st := c.Stats(); st.Recorded != 3 || st.Told != 1 || st.Dropped != 2 || st.Remembered != 0 {
		t.Errorf("%+v", st)
	}
}

// Every event is accounted for, and the number of series is bounded, under random operations.
func TestEveryEventIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCore(Limits{
			Queue: rapid.IntRange(1, 4).Draw(t, "queue"), Series: rapid.IntRange(1, 4).Draw(t, "series"),
			Rate: 1, Burst: rapid.IntRange(1, 9).Draw(t, "burst"),
		})
		now := time.Unix(1000, 0)
		sentCounts := map[string]int{} // count on the server, by name
		types := rapid.SampledFrom([]Type{Normal, Warning})
		names := map[string]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				st := c.Stats()
				if st.Recorded != st.Told+st.Dropped+st.Untold {
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
				if sum != st.Told {
					t.Fatalf("the server has %d: %+v", sum, st)
				}
			},
			"add": func(t *rapid.T) {
				c.Add(now, of(rapid.StringMatching("[a-f]").Draw(t, "name"), types.Draw(t, "type"), "R"))
			},
			"pass": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "s")) * time.Second)
			},
			"send": func(t *rapid.T) {
				s, ok, _ := c.Next(now)
				if !ok {
					return
				}
				o := rapid.SampledFrom([]Outcome{Done, Done, Done, Again, Missing, Drop}).Draw(t, "outcome")
				if o == Done {
					if s.Created() != names[s.Name] {
						t.Fatalf("created %v, the server has it: %v", s.Created(), names[s.Name])
					}
					names[s.Name], sentCounts[s.Name] = true, s.Count
				}
				c.Report(now, 0, o, 0)
			},
			"flush": func(t *rapid.T) { c.Flush() },
		})
		c.Close()
		if st := c.Stats(); st.Untold != 0 || st.Remembered != 0 || st.Waiting != 0 || st.Recorded != st.Told+st.Dropped {
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
