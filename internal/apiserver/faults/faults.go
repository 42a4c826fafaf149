// Package faults decides which requests to an API server in memory go wrong, and how. It is pure: [Set.Decide] gets
// each request and returns a [Plan]; package web carries it out.
//
//	request ──▶ Set.Decide: the rules that match, counted ──▶ Plan ──▶ for a watch: Stream, frame by frame
package faults

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Request has the parts of a request that rules can match.
type Request struct {
	Verb string // as in RBAC; "apply" for an apply patch
	// Group, Resource and Subresource are empty for a path that names no resource.
	Group, Resource, Subresource string
	Namespace, Name              string
	Path                         string
	Params                       url.Values
	UserAgent, User              string
	// Controller says that a controller of the server makes the request. A rule matches such requests only if it names
	// a user or a user agent.
	Controller bool
}

// Rule says which requests go wrong. Empty fields match everything. It is a value.
type Rule struct {
	// Verbs and Resource are those of [On].
	Verbs, Resource string
	Namespace, Name string // patterns as of path.Match
	UserAgent, User string // a prefix of the user agent; the name of the user
	Params          []string
	First, Last     int    // which of the matching requests, counted from 1; zero: from the first, to the last
	Wrong           string // a mistake in the making of the rule
}

// On returns a rule for verbs and a resource.
//
// Verbs are separated by commas: get, list, watch, create, update, patch, apply, delete, deletecollection, or
// * for all. An apply is a patch, too. A resource is "deployments" or "deployments.apps" with its subresource,
// as in "deployments/status"; "deployments/*" has the subresources, too, and "*" is every request. A resource
// that begins with a slash is a path, such as "/apis/*".
func On(verbs, resource string) Rule { return Rule{Verbs: verbs, Resource: resource} }

// Verbs has all verbs that a request can have.
var Verbs = []string{"get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection"}

// Check returns an error for a rule that can match nothing, or whose effects are not for its verbs.
func (r Rule) Check(effects []Effect) error {
	for _, v := range r.verbs() {
		if v != "*" && !slices.Contains(Verbs, v) {
			return fmt.Errorf("%v: there is no verb %q; the verbs are *, %s", r, v, strings.Join(Verbs, ", "))
		}
	}
	for _, pattern := range []string{r.Namespace, r.Name, r.resourcePattern()} {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%v: the pattern %q: %w", r, pattern, err)
		}
	}
	if r.Resource == "" {
		return fmt.Errorf("%v: the resource is missing; \"*\" is every request", r)
	}
	if r.First < 0 || r.Last != 0 && r.Last < max(1, r.First) {
		return fmt.Errorf("%v: there is no request from number %d to number %d", r, r.First, r.Last)
	}
	if r.Wrong != "" {
		return fmt.Errorf("%v: %s", r, r.Wrong)
	}
	if !strings.HasPrefix(r.Resource, "/") && r.Resource != strings.ToLower(r.Resource) {
		return fmt.Errorf("%v: it names a kind; a resource has no capital letters, as in \"deployments\"", r)
	}
	for _, p := range r.Params {
		if name, _, _ := strings.Cut(p, "="); name == "" {
			return fmt.Errorf("%v: the parameter has no name", r)
		}
	}
	if len(effects) == 0 {
		return fmt.Errorf("%v: it has no effect", r)
	}
	for _, e := range effects {
		if e.text == "" {
			return fmt.Errorf("%v: an effect is the zero value", r)
		}
		if e.wrong != "" {
			return fmt.Errorf("%v: %v: %s", r, e, e.wrong)
		}
		if only := e.verbs(); only != nil && !slices.ContainsFunc(r.verbs(), func(v string) bool { return v == "*" || slices.Contains(only, v) }) {
			return fmt.Errorf("%v: %v is for %s only", r, e, strings.Join(only, ", "))
		}
	}
	return nil
}

func (r Rule) verbs() []string {
	verbs := strings.Split(r.Verbs, ",")
	for i, v := range verbs {
		verbs[i] = strings.TrimSpace(v)
	}
	return verbs
}

// resourcePattern is the resource of a rule without its group.
func (r Rule) resourcePattern() string {
	main, sub, _ := strings.Cut(r.Resource, "/")
	main, _, _ = strings.Cut(main, ".")
	return main + "/" + sub
}

// String returns the rule in the form in which tests write it.
func (r Rule) String() string {
	text := fmt.Sprintf("On(%q, %q)", r.Verbs, r.Resource)
	add := func(method, value string) {
		if value != "" || method == "With" {
			text += fmt.Sprintf(".%s(%q)", method, value)
		}
	}
	add("In", r.Namespace)
	add("Named", r.Name)
	add("From", r.UserAgent)
	add("By", r.User)
	for _, p := range r.Params {
		add("With", p)
	}
	switch {
	case r.First == 0 && r.Last == 0:
	case r.First <= 1 && r.Last > 0:
		text += fmt.Sprintf(".Times(%d)", r.Last)
	case r.First == r.Last:
		text += fmt.Sprintf(".Nth(%d)", r.First)
	default:
		text += fmt.Sprintf(".Between(%d, %d)", r.First, r.Last)
	}
	return text
}

// Match reports whether a rule matches a request. It ignores First and Last.
func (r Rule) Match(q Request) bool {
	return (!q.Controller || r.UserAgent != "" || r.User != "") && r.matchVerb(q.Verb) && r.matchResource(q) &&
		glob(r.Namespace, q.Namespace) && glob(r.Name, q.Name) &&
		strings.HasPrefix(q.UserAgent, r.UserAgent) && (r.User == "" || r.User == q.User) &&
		!slices.ContainsFunc(r.Params, func(p string) bool { return !hasParam(q.Params, p) })
}

func (r Rule) matchVerb(verb string) bool {
	return slices.ContainsFunc(r.verbs(), func(v string) bool {
		return v == "*" || v == verb || v == "patch" && verb == "apply"
	})
}

func (r Rule) matchResource(q Request) bool {
	if r.Resource == "*" {
		return true
	}
	if strings.HasPrefix(r.Resource, "/") {
		prefix, all := strings.CutSuffix(r.Resource, "*")
		return q.Path == r.Resource || all && strings.HasPrefix(q.Path, prefix)
	}
	main, sub, _ := strings.Cut(r.Resource, "/")
	main, group, grouped := strings.Cut(main, ".")
	return q.Resource != "" && glob(main, q.Resource) && (!grouped || group == q.Group) && (sub == "*" || sub == q.Subresource)
}

func glob(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// hasParam reports whether a query has a parameter, such as "limit", or one with a value, such as "limit=5".
func hasParam(q url.Values, p string) bool {
	name, value, exact := strings.Cut(p, "=")
	return q.Get(name) != "" && (!exact || q.Get(name) == value)
}

// Set has the rules of a server, and counts their requests. The zero value is empty. It is for one goroutine.
type Set struct {
	rules []*entry
	last  int
}

type entry struct {
	id      int
	rule    Rule
	effects []Effect
	matched int // requests that the rule has matched
	hit     int // those of them from First to Last
	ended   bool
}

// Add adds a rule, and returns its number, which is never zero.
func (s *Set) Add(r Rule, effects []Effect) int {
	s.last++
	s.rules = append(s.rules, &entry{id: s.last, rule: r, effects: effects})
	return s.last
}

// End ends a rule. Its hits can still be counted.
func (s *Set) End(id int) {
	for _, e := range s.rules {
		if e.id == id {
			e.ended = true
		}
	}
}

// Hits returns how many requests have gone wrong by a rule.
func (s *Set) Hits(id int) int {
	for _, e := range s.rules {
		if e.id == id {
			return e.hit
		}
	}
	return 0
}

// Unmatched returns the rules that did nothing, as they are written.
func (s *Set) Unmatched() []string {
	var out []string
	for _, e := range s.rules {
		if e.hit > 0 {
			continue
		}
		text := e.String()
		if e.matched > 0 {
			text += fmt.Sprintf(": %d requests matched but for their number", e.matched)
		}
		out = append(out, text)
	}
	return out
}

func (e *entry) String() string {
	text := e.rule.String()
	for _, f := range e.effects {
		text += ", " + f.String()
	}
	return text
}

// Decide returns the plan for a request, and counts the request.
func (s *Set) Decide(q Request) Plan {
	p := Plan{CutAt: -1}
	for _, e := range s.rules {
		if e.ended || !e.rule.Match(q) || slices.ContainsFunc(e.effects, func(f Effect) bool { return !f.applies(q.Verb) }) {
			continue
		}
		e.matched++
		if e.matched < e.rule.First || e.rule.Last > 0 && e.matched > e.rule.Last {
			continue
		}
		e.hit++
		p.Rules = append(p.Rules, e.id)
		for _, f := range e.effects {
			f.add(&p, q, e.id)
		}
	}
	return p
}
