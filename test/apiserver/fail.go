package apiserver

import (
	"context"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/faults"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// Rule says which requests go wrong. It is made by [On], and is a value: each method returns another rule.
type Rule struct{ rule faults.Rule }

// Effect is one thing that goes wrong, such as [Conflict] or [DropEvents].
type Effect struct{ effect faults.Effect }

// String is the rule as it is written.
func (r Rule) String() string { return r.rule.String() }

// String is the effect as it is written.
func (e Effect) String() string { return e.effect.String() }

// On returns a rule for all requests with one of some verbs about a resource.
//
// Verbs are separated by commas: get, list, watch, create, update, patch, apply, delete and deletecollection,
// or * for all. An apply is a patch, too. A resource has its subresource with it, as "deployments/status", and
// may have its group, as "deployments.apps". "deployments/*" is the resource with all its subresources, and "*"
// is every request. What begins with a slash is a path, as "/apis/*".
//
// A rule is about requests of the server's own controllers only if it says so, by [Rule.From] or [Rule.By].
func On(verbs, resource string) Rule { return Rule{faults.On(verbs, resource)} }

// In keeps to a namespace. It may be a pattern, as of [path.Match].
func (r Rule) In(namespace string) Rule { r.rule.Namespace = namespace; return r }

// Named keeps to objects of a name. It may be a pattern. A list or watch of one object by a field selector has
// its name.
func (r Rule) Named(name string) Rule { r.rule.Name = name; return r }

// From keeps to clients whose user agent begins with a text.
func (r Rule) From(userAgent string) Rule { r.rule.UserAgent = userAgent; return r }

// By keeps to the requests of a user.
func (r Rule) By(user string) Rule { r.rule.User = user; return r }

// With keeps to requests with a parameter, as "continue", or with a value of it, as "limit=500".
func (r Rule) With(param string) Rule {
	r.rule.Params = append(r.rule.Params[:len(r.rule.Params):len(r.rule.Params)], param)
	return r
}

// Times keeps to the first n of the requests that match.
func (r Rule) Times(n int) Rule { return r.Between(1, n) }

// Nth keeps to the n-th of the requests that match, counted from 1.
func (r Rule) Nth(n int) Rule { return r.Between(n, n) }

// Between keeps to the requests that match from the first-th to the last-th. A last of 0 is no bound.
func (r Rule) Between(first, last int) Rule { r.rule.First, r.rule.Last = first, last; return r }

// The errors of a server, with the words of a real one.
var (
	Conflict        = Effect{faults.Conflict}        // 409: the object has been modified
	AlreadyExists   = Effect{faults.AlreadyExists}   // 409
	NotFound        = Effect{faults.NotFound}        // 404
	Unauthorized    = Effect{faults.Unauthorized}    // 401
	Forbidden       = Effect{faults.Forbidden}       // 403, with verb and resource
	Expired         = Effect{faults.Expired}         // 410: the version or continue token is too old
	Gone            = Effect{faults.Gone}            // 410, without that reason
	Internal        = Effect{faults.Internal}        // 500
	Unavailable     = Effect{faults.Unavailable}     // 503
	Timeout         = Effect{faults.Timeout}         // 504
	TooLargeVersion = Effect{faults.TooLargeVersion} // 504: the server has not reached the version
	BadGateway      = Effect{faults.BadGateway}      // 502: the page of a load balancer
)

// TooManyRequests answers 429 with Retry-After, in whole seconds.
func TooManyRequests(after time.Duration) Effect { return Effect{faults.TooManyRequests(after)} }

// Answers answers in place of the server: by a page, by an object of another kind, by anything.
func Answers(code int, contentType, body string) Effect {
	return Effect{faults.Answers(code, contentType, body)}
}

// What happens to connections.
var (
	CutBefore  = Effect{faults.CutBefore}  // cut before the request takes effect
	LoseAnswer = Effect{faults.LoseAnswer} // cut after the request has taken effect
	Hang       = Effect{faults.Hang}       // open, and nothing is answered until the fault ends
	Restart    = Effect{faults.Restart}    // see [Server.Restart]; the request takes no effect
)

// CutWithin cuts the connection after so many bytes of the answer's body.
func CutWithin(bytes int) Effect { return Effect{faults.CutWithin(bytes)} }

// Delay lets the request wait before it takes effect.
func Delay(d time.Duration) Effect { return Effect{faults.Delay(d)} }

// Late lets the request wait, too. It takes effect even if the client has gone meanwhile.
func Late(d time.Duration) Effect { return Effect{faults.Late(d)} }

// StaleBy answers a get or a list from the state before the last n changes.
func StaleBy(n int) Effect { return Effect{faults.StaleBy(n)} }

// Ignore answers as if the request did not have a parameter: without "continue" the first page comes again,
// and without "sendInitialEvents" the server is an old one.
func Ignore(param string) Effect { return Effect{faults.Ignore(param)} }

// Rewrite changes the body of an answer, but for that of a watch.
func Rewrite(change func(body []byte) []byte) Effect { return Effect{faults.Rewrite(change)} }

// EndAfter ends a watch in good order after n events.
func EndAfter(n int) Effect { return Effect{faults.EndAfter(n)} }

// CutAfter cuts the connection of a watch after n events.
func CutAfter(n int) Effect { return Effect{faults.CutAfter(n)} }

// CutFrame cuts the connection of a watch in the middle of the n-th event.
func CutFrame(n int) Effect { return Effect{faults.CutFrame(n)} }

// ExpireAfter ends a watch by a 410 after n events.
func ExpireAfter(n int) Effect { return Effect{faults.ExpireAfter(n)} }

// SilentAfter keeps a watch open after n events and sends nothing, not even bookmarks, until the fault ends.
// Then it goes on where it was.
func SilentAfter(n int) Effect { return Effect{faults.SilentAfter(n)} }

// DropEvents loses events of a watch without a trace, from the first-th to the last-th, counted from 1. A last
// of 0 is no bound.
func DropEvents(first, last int) Effect { return Effect{faults.DropEvents(first, last)} }

// RepeatEvents sends events of a watch twice.
func RepeatEvents(first, last int) Effect { return Effect{faults.RepeatEvents(first, last)} }

// SwapEvents sends the n-th event of a watch after the one that follows.
func SwapEvents(n int) Effect { return Effect{faults.SwapEvents(n)} }

// DelayEvents lets each event of a watch wait.
func DelayEvents(d time.Duration) Effect { return Effect{faults.DelayEvents(d)} }

// InsertFrame sends a frame of one's own after n events of a watch: one line of JSON, or garbage. A watch in
// protobuf gets it behind its length.
func InsertFrame(n int, text string) Effect { return Effect{faults.InsertFrame(n, text)} }

// LoseBookmarks sends no bookmarks, not even the one that ends the initial events of a streaming list.
var LoseBookmarks = Effect{faults.LoseBookmarks}

// Fault is a rule that a server has been given. Its methods are safe for concurrent use.
type Fault struct{ fault *web.Fault }

// Count returns how many requests the rule did something to.
func (f *Fault) Count() int { return f.fault.Count() }

// Wait waits until the rule has done something to n requests. The error is the cause of the end of ctx.
func (f *Fault) Wait(ctx context.Context, n int) error { return f.fault.Wait(ctx, n) }

// End ends the fault. Requests that hang, and watches that are silent by it, go on.
func (f *Fault) End() { f.fault.End() }

// Fail makes all later requests that match a rule go wrong, in each of the ways given:
//
//	s.Fail(apiserver.On("update", "deployments/status").Times(3), apiserver.Conflict)
//
// Several rules may match a request; the first error counts. A rule that has matched nothing when the test ends
// fails it, so that a test does not pass for lack of its fault. A rule that cannot match anything (a verb that does
// not exist, an effect on watches for another verb) ends the test; Fail panics on a server of [New].
func (s *Server) Fail(rule Rule, effects ...Effect) *Fault {
	if s.t != nil {
		s.t.Helper()
	}
	var all []faults.Effect
	for _, e := range effects {
		all = append(all, e.effect)
	}
	f, err := s.web.Fail(rule.rule, all)
	if err != nil {
		err = fmt.Errorf("apiserver: %w", err)
		if s.t == nil {
			panic(err)
		}
		s.t.Fatal(err)
	}
	return &Fault{f}
}

// Unmatched returns the rules that have matched nothing so far, as they are written.
func (s *Server) Unmatched() []string { return s.web.Unmatched() }

// Restart cuts all connections and forgets the history, as a server that starts again does. Objects stay.
func (s *Server) Restart() { s.web.Restart() }

// Advance moves the clock of the server, forwards or back.
func (s *Server) Advance(d time.Duration) { s.web.Advance(d) }
