package faults

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plan says what goes wrong with one request. Package web carries it out.
type Plan struct {
	Rules []int // the numbers of the rules that the plan is made of

	Restart bool // the server restarts before the request
	Delay   time.Duration
	// Late says that the request takes effect after the delay even if the client has gone.
	Late   bool
	Hang   int  // the number of the rule that holds the request; zero for none
	Refuse bool // the connection is cut before the request takes effect
	// Status or Answer is the answer in place of the server's.
	Status *metav1.Status
	Answer *Answer

	Ignore  []string // parameters that are taken out of the query
	Stale   int      // how many of the last changes the answer leaves out
	Rewrite []func([]byte) []byte
	Lose    bool // the connection is cut before the answer
	CutAt   int  // bytes of the answer before the connection is cut; -1: not at all

	stream []ofRule
}

// Answer is an answer in place of the server's.
type Answer struct {
	Code        int
	ContentType string
	Body        string
}

// Effect is one thing that goes wrong. The zero value is none.
type Effect struct {
	text  string
	only  []string // verbs
	plan  func(p *Plan, q Request, rule int)
	frame frame  // the effect on a watch
	wrong string // what is wrong with the arguments of the effect; "" if nothing is
}

// unless returns the effect, which is wrong unless its arguments are right.
func (e Effect) unless(right bool, wrong string) Effect {
	if !right {
		e.wrong = wrong
	}
	return e
}

const negative = "it is negative"

// String returns the effect in the form in which tests write it.
func (e Effect) String() string { return e.text }

func (e Effect) verbs() []string { return e.only }

func (e Effect) applies(verb string) bool { return e.only == nil || slices.Contains(e.only, verb) }

func (e Effect) add(p *Plan, q Request, rule int) {
	if e.plan != nil {
		e.plan(p, q, rule)
		return
	}
	p.stream = append(p.stream, ofRule{e.frame, rule})
}

func effect(text string, plan func(p *Plan, q Request, rule int)) Effect {
	return Effect{text: text, plan: plan}
}

// onAnswers returns an effect on the bodies of answers, which watches do not have.
func onAnswers(text string, plan func(p *Plan, q Request, rule int)) Effect {
	verbs := slices.DeleteFunc(slices.Clone(Verbs), func(v string) bool { return v == "watch" })
	return Effect{text: text, only: verbs, plan: plan}
}

// failure returns an effect that answers with an error.
func failure(text string, status func(q Request) *apierrors.StatusError) Effect {
	return effect(text, func(p *Plan, q Request, _ int) {
		if p.Status == nil && p.Answer == nil {
			s := status(q).ErrStatus
			s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			p.Status = &s
		}
	})
}

func (q Request) resource() schema.GroupResource {
	return schema.GroupResource{Group: q.Group, Resource: q.Resource}
}

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Errors of the server, in the words of a real one.
var (
	Conflict = failure("Conflict", func(q Request) *apierrors.StatusError {
		return apierrors.NewConflict(q.resource(), q.Name, errModified)
	})
	Forbidden = failure("Forbidden", func(q Request) *apierrors.StatusError {
		user, verb, scope := q.User, q.Verb, "at the cluster scope"
		if verb == "apply" {
			verb = "patch"
		}
		if q.Namespace != "" {
			scope = fmt.Sprintf("in the namespace %q", q.Namespace)
		}
		return apierrors.NewForbidden(q.resource(), q.Name, fmt.Errorf("%s %q cannot %s resource %q in API group %q %s", "User", user, verb, q.Resource, q.Group, scope))
	})
	TooLargeVersion = failure("TooLargeVersion", func(q Request) *apierrors.StatusError {
		e := apierrors.NewTimeoutError("Too large resource version: 999, current: 7", 1)
		e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
		return e
	})
)

// failures are the errors without a name here.
var failures = map[metav1.StatusReason]func(q Request) *apierrors.StatusError{
	metav1.StatusReasonAlreadyExists: func(q Request) *apierrors.StatusError { return apierrors.NewAlreadyExists(q.resource(), q.Name) },
	metav1.StatusReasonNotFound:      func(q Request) *apierrors.StatusError { return apierrors.NewNotFound(q.resource(), q.Name) },
	metav1.StatusReasonUnauthorized:  func(Request) *apierrors.StatusError { return apierrors.NewUnauthorized("Unauthorized") },
	metav1.StatusReasonExpired: func(Request) *apierrors.StatusError {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	},
	metav1.StatusReasonGone: func(Request) *apierrors.StatusError {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone,
			Message: "The provided continue parameter is too old to display a consistent list result.",
		}}
	},
	metav1.StatusReasonInternalError: func(Request) *apierrors.StatusError {
		return apierrors.NewInternalError(errors.New("a fault of the test"))
	},
	metav1.StatusReasonServiceUnavailable: func(Request) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	},
	metav1.StatusReasonTimeout: func(Request) *apierrors.StatusError {
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	},
}

// Error answers with the error of a reason.
func Error(reason metav1.StatusReason) Effect {
	return failure(fmt.Sprintf("Error(%q)", reason), failures[reason]).unless(failures[reason] != nil, "there is no such error")
}

// TooManyRequests answers 429 with Retry-After.
func TooManyRequests(after time.Duration) Effect {
	return failure(fmt.Sprintf("TooManyRequests(%v)", after), func(Request) *apierrors.StatusError {
		return apierrors.NewTooManyRequests("too many requests, please try again later", int((after+time.Second-1)/time.Second))
	}).unless(after >= 0, negative)
}

// Answers answers with any body, which need be neither a Status nor JSON.
func Answers(code int, contentType, body string) Effect {
	return effect(fmt.Sprintf("Answers(%d, %q, %q)", code, contentType, short(body)), func(p *Plan, _ Request, _ int) {
		if p.Status == nil && p.Answer == nil {
			p.Answer = &Answer{code, contentType, body}
		}
	}).unless(code >= 200 && code <= 599, "the code is not from 200 to 599")
}

// BadGateway is the page of a load balancer without a server behind it.
var BadGateway = Effect{text: "BadGateway", plan: Answers(http.StatusBadGateway, "text/html", "<html><body><h1>502 Bad Gateway</h1></body></html>\n").plan}

func short(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}

// Delay delays the request before it takes effect.
func Delay(d time.Duration) Effect {
	return effect(fmt.Sprintf("Delay(%v)", d), func(p *Plan, _ Request, _ int) { p.Delay += d }).unless(d >= 0, negative)
}

// Late delays the request. It takes effect even if the client has gone meanwhile.
func Late(d time.Duration) Effect {
	return effect(fmt.Sprintf("Late(%v)", d), func(p *Plan, _ Request, _ int) { p.Delay += d; p.Late = true }).unless(d >= 0, negative)
}

// StaleBy answers a read from the state before the last n changes.
func StaleBy(n int) Effect {
	stale := func(p *Plan, _ Request, _ int) { p.Stale = max(p.Stale, n) }
	return Effect{text: fmt.Sprintf("StaleBy(%d)", n), only: []string{"get", "list"}, plan: stale}.unless(n > 0, "it leaves no change out")
}

// Ignore answers as if the request did not have a parameter.
func Ignore(param string) Effect {
	return effect(fmt.Sprintf("Ignore(%q)", param), func(p *Plan, _ Request, _ int) { p.Ignore = append(p.Ignore, param) }).unless(param != "", "the parameter has no name")
}

// Rewrite changes the body of the answer.
func Rewrite(change func(body []byte) []byte) Effect {
	return onAnswers("Rewrite(…)", func(p *Plan, _ Request, _ int) { p.Rewrite = append(p.Rewrite, change) }).unless(change != nil, "the function is nil")
}

// CutWithin cuts the connection after a number of bytes of the answer.
func CutWithin(bytes int) Effect {
	return onAnswers(fmt.Sprintf("CutWithin(%d)", bytes), func(p *Plan, _ Request, _ int) { p.CutAt = bytes }).unless(bytes >= 0, negative)
}

// Effects on connections.
var (
	Hang       = effect("Hang", func(p *Plan, _ Request, rule int) { p.Hang = rule })
	CutBefore  = effect("CutBefore", func(p *Plan, _ Request, _ int) { p.Refuse = true })
	LoseAnswer = effect("LoseAnswer", func(p *Plan, _ Request, _ int) { p.Lose = true })
	Restart    = effect("Restart", func(p *Plan, _ Request, _ int) { p.Restart = true })
)
