package faults

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMatch(t *testing.T) {
	status := Request{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "status", Namespace: "a", Name: "web-1", Path: "/apis/apps/v1/x", UserAgent: "manager/v1 (linux)", User: "jane"}
	page := Request{Verb: "list", Resource: "pods", Params: url.Values{"limit": {"5"}, "continue": {"x"}}}
	apply := Request{Verb: "apply", Resource: "pods", Name: "p"}
	document := Request{Verb: "get", Path: "/apis/apps/v1"}
	with := func(r Rule, change func(*Rule)) Rule { change(&r); return r }
	for _, c := range []struct {
		rule Rule
		q    Request
		want bool
	}{
		{On("update", "deployments/status"), status, true},
		{On("get, update", "deployments/status"), status, true},
		{On("*", "deployments.apps/status"), status, true},
		{On("*", "deployments.extensions/status"), status, false},
		{On("*", "deployments/*"), status, true},
		{On("*", "deployments"), status, false},
		{On("*", "deployments/scale"), status, false},
		{On("get", "deployments/status"), status, false},
		{On("*", "*"), status, true},
		{On("*", "*"), document, true},
		{On("*", "*/status"), status, true},
		{On("*", "/apis/*"), document, true},
		{On("get", "/apis/apps/v1"), document, true},
		{On("get", "/apis/apps"), document, false},
		{On("get", "pods"), document, false},
		{On("patch", "pods"), apply, true},
		{On("apply", "pods"), apply, true},
		{On("patch", "pods"), page, false},
		{with(On("*", "*"), func(r *Rule) { r.Namespace = "a" }), status, true},
		{with(On("*", "*"), func(r *Rule) { r.Namespace = "b" }), status, false},
		{with(On("*", "*"), func(r *Rule) { r.Name = "web-*" }), status, true},
		{with(On("*", "*"), func(r *Rule) { r.Name = "web" }), status, false},
		{with(On("*", "*"), func(r *Rule) { r.UserAgent = "manager/" }), status, true},
		{with(On("*", "*"), func(r *Rule) { r.UserAgent = "kubectl" }), status, false},
		{with(On("*", "*"), func(r *Rule) { r.User = "jane" }), status, true},
		{with(On("*", "*"), func(r *Rule) { r.User = "jan" }), status, false},
		{with(On("*", "*"), func(r *Rule) { r.Params = []string{"continue", "limit=5"} }), page, true},
		{with(On("*", "*"), func(r *Rule) { r.Params = []string{"limit=6"} }), page, false},
		{with(On("*", "*"), func(r *Rule) { r.Params = []string{"watch"} }), page, false},
	} {
		if got := c.rule.Match(c.q); got != c.want {
			t.Errorf("%v about %+v: %t, want %t", c.rule, c.q, got, c.want)
		}
	}
}

// A rule counts the requests that it is about, and those that it does something to.
func TestTheNthToTheMth(t *testing.T) {
	for _, c := range []struct {
		first, last int
		want        string
	}{{0, 0, "11111"}, {1, 2, "11000"}, {3, 3, "00100"}, {2, 4, "01110"}, {4, 0, "00011"}} {
		var s Set
		r := On("get", "pods")
		r.First, r.Last = c.first, c.last
		id := s.Add(r, []Effect{Error(metav1.StatusReasonServiceUnavailable)})
		got := ""
		for range 5 {
			s.Decide(Request{Verb: "list", Resource: "pods"}) // does not count
			got += fmt.Sprint(len(s.Decide(Request{Verb: "get", Resource: "pods"}).Rules))
		}
		if got != c.want || s.Hits(id) != strings.Count(c.want, "1") {
			t.Errorf("%v: %s and %d hits, want %s", r, got, s.Hits(id), c.want)
		}
	}
}

// What matched nothing is told as it was written, whether it has ended or not.
func TestUnmatched(t *testing.T) {
	var s Set
	r := On("update", "deployments/status")
	r.Namespace, r.Params, r.First, r.Last = "a", []string{"dryRun"}, 2, 2
	late := On("get", "pods")
	late.First = 2
	s.Add(late, []Effect{Error(metav1.StatusReasonInternalError)})
	ended := s.Add(r, []Effect{Conflict, Delay(2e9)})
	s.End(ended)
	s.Add(On("*", "pods"), []Effect{Error(metav1.StatusReasonGone)})
	s.Decide(Request{Verb: "get", Resource: "pods"})
	want := []string{
		`On("get", "pods").Between(2, 0), Error("InternalError"): 1 requests matched but for their number`,
		`On("update", "deployments/status").In("a").With("dryRun").Nth(2), Conflict, Delay(2s)`,
	}
	if got := s.Unmatched(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRulesThatCanMatchNothing(t *testing.T) {
	for want, c := range map[string]struct {
		rule    Rule
		effects []Effect
	}{
		`there is no verb "updat"`:              {On("updat", "pods"), []Effect{Conflict}},
		"the resource is missing":               {On("get", ""), []Effect{Conflict}},
		"it has no effect":                      {On("get", "pods"), nil},
		"an effect is the zero value":           {On("get", "pods"), []Effect{{}}},
		"EndAfter(1) is for watch only":         {On("get,list", "pods"), []Effect{EndAfter(1)}},
		"StaleBy(1) is for get, list only":      {On("update", "pods"), []Effect{StaleBy(1)}},
		"CutWithin(9) is for get, list, create": {On("watch", "pods"), []Effect{CutWithin(9)}},
		"Rewrite(…) is for get, list, create":   {On("watch", "pods"), []Effect{Rewrite(func(b []byte) []byte { return b })}},
		"there is no request from number 3 to":  {Rule{Verbs: "*", Resource: "*", First: 3, Last: 2}, []Effect{Conflict}},
		`the pattern "["`:                       {Rule{Verbs: "*", Resource: "*", Name: "["}, []Effect{Conflict}},
		`the pattern "po[ds/"`:                  {On("*", "po[ds"), []Effect{Conflict}},
		"there is no request from number 0":     {Rule{Verbs: "*", Resource: "*", Last: -1}, []Effect{Conflict}},
		`On("get", "Pod"): it names a kind`:     {On("get", "Pod"), []Effect{Conflict}},
		`With(""): the parameter has no name`:   {Rule{Verbs: "*", Resource: "*", Params: []string{""}}, []Effect{Conflict}},
		`With("=5"): the parameter has no name`: {Rule{Verbs: "*", Resource: "*", Params: []string{"=5"}}, []Effect{Conflict}},
	} {
		if err := c.rule.Check(c.effects); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", c.rule, err, want)
		}
	}
	for want, effect := range map[string]Effect{
		"Answers(0, \"\", \"\"): the code is not from 200 to 599": Answers(0, "", ""),
		"TooManyRequests(-1s): it is negative":                    TooManyRequests(-1e9),
		"Delay(-1s): it is negative":                              Delay(-1e9),
		"Late(-1s): it is negative":                               Late(-1e9),
		"DelayEvents(-1s): it is negative":                        DelayEvents(-1e9),
		"CutWithin(-1): it is negative":                           CutWithin(-1),
		"EndAfter(-1): it is negative":                            EndAfter(-1),
		"StaleBy(0): it leaves no change out":                     StaleBy(0),
		"Ignore(\"\"): the parameter has no name":                 Ignore(""),
		"Rewrite(…): the function is nil":                         Rewrite(nil),
		"DropEvents(0, 1): events are counted from 1":             DropEvents(0, 1),
		"CutFrame(0): events are counted from 1":                  CutFrame(0),
		"SwapEvents(0): events are counted from 1":                SwapEvents(0),
		"RepeatEvents(2, 1): the last event is before the first":  RepeatEvents(2, 1),
	} {
		if err := On("*", "*").Check([]Effect{effect}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, r := range []Rule{On("*", "*"), On("*", "/apis/Shop/*")} {
		if err := r.Check([]Effect{EndAfter(1), StaleBy(1), Conflict}); err != nil {
			t.Error(err)
		}
	}
}

// play sends ten events, with a bookmark after the fifth, through what effects make of a watch.
func play(effects ...Effect) string {
	var s Set
	s.Add(On("watch", "pods"), effects)
	stream := s.Decide(Request{Verb: "watch", Resource: "pods"}).Stream()
	var b strings.Builder
	held := ""
	then := func() (over bool) {
		t := stream.Then()
		for _, text := range t.Insert {
			b.WriteString(text)
		}
		for word, is := range map[string]bool{" end": t.End, " cut": t.Cut, " expired": t.Expire, " silent": t.Silence == 1} {
			if is {
				b.WriteString(word)
				over = true
			}
		}
		return over
	}
	send := func(text string, bookmark bool) (over bool) {
		f := stream.Next(bookmark)
		text = strings.Repeat(text, f.Times)
		switch {
		case f.Cut:
			b.WriteString(text + "/")
			return true
		case f.Hold:
			held = text
		default:
			b.WriteString(text + held)
			held = ""
		}
		return then()
	}
	if then() {
		return b.String()
	}
	for i := range 10 {
		if send(fmt.Sprint(i), false) || i == 4 && send("b", true) {
			break
		}
	}
	return b.String()
}

func TestStream(t *testing.T) {
	for _, c := range []struct {
		effects []Effect
		want    string
	}{
		{nil, "01234b56789"},
		{[]Effect{EndAfter(0)}, " end"},
		{[]Effect{EndAfter(3)}, "012 end"},
		{[]Effect{CutAfter(5)}, "01234 cut"},
		{[]Effect{CutFrame(2)}, "01/"},
		{[]Effect{ExpireAfter(1)}, "0 expired"},
		{[]Effect{SilentAfter(2)}, "01 silent"},
		{[]Effect{DropEvents(2, 4)}, "04b56789"},
		{[]Effect{DropEvents(9, 0)}, "01234b567"},
		{[]Effect{RepeatEvents(1, 2)}, "001123" + "4b56789"},
		{[]Effect{RepeatEvents(1, 2), DropEvents(2, 2)}, "00234b56789"},
		{[]Effect{DropEvents(2, 2), RepeatEvents(1, 2)}, "00234b56789"},
		{[]Effect{SwapEvents(2)}, "02134b56789"},
		{[]Effect{InsertFrame(0, "x"), InsertFrame(9, "y")}, "x01234b5678y9"},
		{[]Effect{LoseBookmarks, EndAfter(8)}, "01234567 end"},
	} {
		if got := play(c.effects...); got != c.want {
			t.Errorf("%v: %q, want %q", c.effects, got, c.want)
		}
	}
}

// The effects of a rule that has ended are over; those of another rule are not.
func TestForget(t *testing.T) {
	var s Set
	one := s.Add(On("watch", "*"), []Effect{SilentAfter(0)})
	two := s.Add(On("watch", "*"), []Effect{SilentAfter(1)})
	stream := s.Decide(Request{Verb: "watch"}).Stream()
	if got := stream.Then().Silence; got != one {
		t.Errorf("silence of rule %d, want %d", got, one)
	}
	stream.Forget(func(rule int) bool { return rule == one })
	if got := stream.Then().Silence; got != 0 {
		t.Errorf("silence of rule %d after its end", got)
	}
	stream.Next(false)
	if got := stream.Then().Silence; got != two {
		t.Errorf("silence of rule %d, want %d", got, two)
	}
}

// The first answer counts, whichever rule it is of. What can be added up is.
func TestSeveralRules(t *testing.T) {
	var s Set
	s.Add(On("*", "*"), []Effect{Delay(1), Conflict, Ignore("limit")})
	s.Add(On("*", "*"), []Effect{Delay(2), Error(metav1.StatusReasonGone), BadGateway, StaleBy(3), Ignore("continue")})
	p := s.Decide(Request{Verb: "get", Group: "apps", Resource: "deployments", Name: "web"})
	want := `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again`
	if p.Delay != 3 || p.Answer != nil || p.Status.Message != want || p.Stale != 3 || !slices.Equal(p.Ignore, []string{"limit", "continue"}) {
		t.Errorf("got %+v", p)
	}
}
