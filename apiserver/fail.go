package apiserver

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/faults"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// Rule says which requests go wrong. [On] makes one. It is a value: its methods return other rules.
type Rule struct{ rule faults.Rule }

// Effect is one thing that goes wrong, such as [Conflict] or [DropEvents].
type Effect struct{ effect faults.Effect }

// String returns the rule in the form in which tests write it.
func (r Rule) String() string { return r.rule.String() }

// String returns the effect in the form in which tests write it.
func (e Effect) String() string { return e.effect.String() }

// On returns a rule for all requests with one of the verbs about a resource.
//
// Verbs are separated by commas: get, list, watch, create, update, patch, apply, delete and deletecollection; "*" means
// all. The verb patch includes apply. A resource is "deployments", "deployments.apps" with its group, or
// "deployments/status" for a subresource. "deployments/*" includes all subresources, and "*" means every request. A
// resource that begins with a slash is a pattern for paths, such as "/apis/*".
//
// A rule matches requests of the server's own controllers only if it names them, by [Rule.From] or [Rule.By].
func On(verbs, resource string) Rule { return Rule{faults.On(verbs, resource)} }

// In restricts the rule to a namespace, or to namespaces that match a pattern of [path.Match].
func (r Rule) In(namespace string) Rule { r.rule.Namespace = namespace; return r }

// Named restricts the rule to objects with a name, or whose name matches a pattern of [path.Match]. A list or watch has
// a name if its field selector selects one.
func (r Rule) Named(name string) Rule { r.rule.Name = name; return r }

// From restricts the rule to clients whose user agent begins with a text.
func (r Rule) From(userAgent string) Rule { r.rule.UserAgent = userAgent; return r }

// By restricts the rule to requests of a user.
func (r Rule) By(user string) Rule { r.rule.User = user; return r }

// With restricts the rule to requests with a parameter, such as "continue", or one with a value, such as "limit=500".
func (r Rule) With(param string) Rule {
	r.rule.Params = append(r.rule.Params[:len(r.rule.Params):len(r.rule.Params)], param)
	return r
}

// Times restricts the rule to the first n matching requests.
func (r Rule) Times(n int) Rule { return r.counted("Times", n).Between(1, n) }

// Nth restricts the rule to the n-th matching request, counted from 1.
func (r Rule) Nth(n int) Rule { return r.counted("Nth", n).Between(n, n) }

// counted notes a number that Between would take for "no end".
func (r Rule) counted(method string, n int) Rule {
	if n == 0 {
		r.rule.Wrong = method + "(0): requests are counted from 1"
	}
	return r
}

// Between restricts the rule to the matching requests from number first to number last, counted from 1. A last of 0
// means no end.
func (r Rule) Between(first, last int) Rule { r.rule.First, r.rule.Last = first, last; return r }

// The errors of a server, in the words of a real one. [Error] has the others.
var (
	Conflict        = Effect{faults.Conflict}        // 409: the object has been modified
	Forbidden       = Effect{faults.Forbidden}       // 403, with verb and resource
	TooLargeVersion = Effect{faults.TooLargeVersion} // 504: the server has not reached the version
	BadGateway      = Effect{faults.BadGateway}      // 502: the page of a load balancer
)

// Error answers with the error of a reason, in the words of a real server: AlreadyExists, Expired, Gone,
// InternalError, NotFound, ServiceUnavailable, Timeout or Unauthorized.
func Error(reason metav1.StatusReason) Effect { return Effect{faults.Error(reason)} }

// TooManyRequests answers 429 with Retry-After, in whole seconds.
func TooManyRequests(after time.Duration) Effect { return Effect{faults.TooManyRequests(after)} }

// Answers answers in place of the server, with any body: a page, an object of another kind.
func Answers(code int, contentType, body string) Effect {
	return Effect{faults.Answers(code, contentType, body)}
}

// Effects on connections.
var (
	CutBefore  = Effect{faults.CutBefore}  // cut before the request takes effect
	LoseAnswer = Effect{faults.LoseAnswer} // cut after the request has taken effect
	Hang       = Effect{faults.Hang}       // the request waits until the fault ends
	Restart    = Effect{faults.Restart}    // see [Server.Restart]; the request has no effect
)

// CutWithin cuts the connection after a number of bytes of the answer's body. It is not for watches, which [CutAfter] and
// [CutFrame] cut.
func CutWithin(bytes int) Effect { return Effect{faults.CutWithin(bytes)} }

// Delay delays the request before it takes effect. If the client goes meanwhile, the request has no effect.
func Delay(d time.Duration) Effect { return Effect{faults.Delay(d)} }

// Late delays the request, which takes effect even if the client has gone meanwhile.
func Late(d time.Duration) Effect { return Effect{faults.Late(d)} }

// StaleBy answers a get or a list from the state before the last n changes.
func StaleBy(n int) Effect { return Effect{faults.StaleBy(n)} }

// Ignore answers as if the request did not have a parameter. Without "continue" a list begins again, and without
// "sendInitialEvents" the server acts like an old one.
func Ignore(param string) Effect { return Effect{faults.Ignore(param)} }

// Rewrite changes the body of an answer. It is not for watches.
func Rewrite(change func(body []byte) []byte) Effect { return Effect{faults.Rewrite(change)} }

// EndAfter ends a watch in good order after n events, as a server does after timeoutSeconds.
func EndAfter(n int) Effect { return Effect{faults.EndAfter(n)} }

// CutAfter cuts the connection of a watch after n events.
func CutAfter(n int) Effect { return Effect{faults.CutAfter(n)} }

// CutFrame cuts the connection of a watch in the middle of the n-th event.
func CutFrame(n int) Effect { return Effect{faults.CutFrame(n)} }

// ExpireAfter ends a watch by a 410 after n events.
func ExpireAfter(n int) Effect { return Effect{faults.ExpireAfter(n)} }

// SilentAfter keeps a watch open after n events and sends nothing, not even bookmarks, until the fault ends. Then the
// watch continues without a loss.
func SilentAfter(n int) Effect { return Effect{faults.SilentAfter(n)} }

// DropEvents loses events of a watch without a trace, from number first to number last, counted from 1. A last of 0
// means no end.
func DropEvents(first, last int) Effect { return Effect{faults.DropEvents(first, last)} }

// RepeatEvents sends events of a watch twice, from number first to number last, counted from 1. A last of 0 means no
// end.
func RepeatEvents(first, last int) Effect { return Effect{faults.RepeatEvents(first, last)} }

// SwapEvents sends event n of a watch after event n+1.
func SwapEvents(n int) Effect { return Effect{faults.SwapEvents(n)} }

// DelayEvents delays each event of a watch.
func DelayEvents(d time.Duration) Effect { return Effect{faults.DelayEvents(d)} }

// InsertFrame sends an additional frame after n events of a watch: a line of JSON without its newline, or garbage. In a
// watch in protobuf its length comes before it.
func InsertFrame(n int, text string) Effect { return Effect{faults.InsertFrame(n, text)} }

// LoseBookmarks sends no bookmarks, not even the one that ends the initial events of a streaming list.
var LoseBookmarks = Effect{faults.LoseBookmarks}

// Fault is a rule that was given to a server. Its methods are safe for concurrent use.
type Fault struct{ fault *web.Fault }

// Count returns how many requests have gone wrong by the rule.
func (f *Fault) Count() int { return f.fault.Count() }

// Wait waits until n requests have gone wrong by the rule. The error is the cause of the end of ctx.
func (f *Fault) Wait(ctx context.Context, n int) error { return f.fault.Wait(ctx, n) }

// End ends the fault, for watches that are open, too. Requests that hang by it, and watches that it keeps silent,
// continue.
func (f *Fault) End() { f.fault.End() }

// Fail makes all later requests that match a rule go wrong, by all of the effects:
//
//	s.Fail(apiserver.On("update", "deployments/status").Times(3), apiserver.Conflict)
//
// Several rules may match a request; the first error counts. A rule that has matched nothing at the end of the test
// fails it: a test must not pass because its fault was missing. A rule with a mistake ends the test: a verb that does not
// exist, an effect on watches for another verb, an argument out of its range. Fail panics on a server of [New].
//
// In a bubble of testing/synctest each request that goes wrong takes a tenth of a second at least. Clients that repeat it
// at once would stop virtual time.
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

// Unmatched returns the rules that have matched nothing so far, in the form in which tests write them.
func (s *Server) Unmatched() []string { return s.web.Unmatched() }

// Restart cuts all connections and drops the history, as the restart of a server does. Objects stay.
func (s *Server) Restart() { s.web.Restart() }

// Advance moves the clock of the server by d, which may be negative.
func (s *Server) Advance(d time.Duration) { s.web.Advance(d) }
