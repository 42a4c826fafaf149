package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
)

// ErrNoAnswer says that a check did not return within Options.Timeout. It is also the cause that ends
// the check's ctx.
var ErrNoAnswer = errors.New("no answer in time")

// errNotAsked is the cause that ends the ctx of a check when its last caller has left.
var errNotAsked = errors.New("all callers have left")

// ExcusedError is the error of a check that is not in order but must not fail the set. The list of all
// checks shows it with its reason. It must be returned as it is, not wrapped or joined.
type ExcusedError struct {
	// Why is the reason for the excuse, such as "waits for the webhooks of this program".
	Why string
	// Err is the problem. It must not be nil.
	Err error
}

func (e *ExcusedError) Error() string { return "excused, " + e.Why + ": " + e.Err.Error() }

func (e *ExcusedError) Unwrap() error { return e.Err }

// Check returns nil if all is in order, or the problem. An *ExcusedError does not fail the set. A check
// runs on its own goroutine, never twice at once, and should return soon after ctx ends. The set
// serves the text of the error to its callers, so it must not contain secrets.
type Check func(ctx context.Context) error

// Group runs many checks in one call. It returns the problem of each check by name, or nil for one
// in order. The names obey the rules of [Set.Add]. A group that panics, or does not return in time,
// fails under its own name. The caller owns the returned map. Everything else is as for a [Check].
type Group func(ctx context.Context) map[string]error

// Options configures a Set. New reads the options once.
type Options struct {
	// Timeout is the longest time for a check; one that takes longer fails. Zero or negative
	// means 5 s.
	Timeout time.Duration
	// MaxAge is how long the Handler reuses the answer of a check, counted from the start of the
	// check. It bounds the cost of requests from unknown callers. Check and Err always run the
	// checks, and so does the first request after Forget. Zero or negative means that each request
	// runs them.
	MaxAge time.Duration
	// Withhold removes the reasons of failures from answers, which then show only names. The log
	// has the reasons.
	Withhold bool
	// Logger logs when a check begins to fail, and when it recovers. Nil means slog.Default().
	Logger *slog.Logger
}

// Set is a list of checks under one name, such as "readyz". All methods are safe for concurrent
// use.
type Set struct {
	name string
	o    Options

	mu     sync.Mutex
	checks map[string]*check // and groups
}

// New returns a set without checks; it is in order. Its name is the path of its Handler. The error
// is an *[option.Error].
func New(name string, o Options) (*Set, error) {
	if !validName(name) {
		return nil, &option.Error{Of: "probe.New", Field: "name", Err: badName(name)}
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), 5*time.Second)
	o.Logger = logguard.Logger(o.Logger).With("probe", name)
	return &Set{name: name, o: o, checks: map[string]*check{}}, nil
}

func badName(name string) error {
	return fmt.Errorf("%q: a name must have 1 to 128 letters, digits or any of -_.: in it", name)
}

// Add adds a check. The error is an *[option.Error], with the name as its Field. remove removes the
// check and frees its name, without waiting for the check to return. It may be called more than once.
func (s *Set) Add(name string, f Check) (remove func(), err error) {
	if f == nil {
		return nil, s.bad(name, errors.New("is nil"))
	}
	return s.add(&check{name: name, f: func(ctx context.Context) ([]Outcome, error) {
		return []Outcome{outcomeOf(name, f(ctx))}, nil
	}})
}

// AddGroup adds a group of checks. Excluding its name excludes all of its checks. A check from Add
// hides a check with the same name in a group. Error and remove are as for Add.
func (s *Set) AddGroup(name string, f Group) (remove func(), err error) {
	if f == nil {
		return nil, s.bad(name, errors.New("is nil"))
	}
	return s.add(&check{name: name, group: true, f: func(ctx context.Context) ([]Outcome, error) {
		all := f(ctx)
		out := make([]Outcome, 0, len(all))
		for name, err := range all {
			if !validName(name) {
				err, name = errors.Join(badName(name), err), "unnamed"
			}
			out = append(out, outcomeOf(name, err))
		}
		return out, nil
	}})
}

func (s *Set) bad(name string, err error) error {
	return &option.Error{Of: fmt.Sprintf("probe %q", s.name), Field: name, Err: err}
}

func (s *Set) add(c *check) (remove func(), err error) {
	if !validName(c.name) {
		return nil, s.bad(c.name, badName(c.name))
	}
	c.o = s.o
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checks[c.name] != nil {
		return nil, s.bad(c.name, errors.New("is taken"))
	}
	s.checks[c.name] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.checks[c.name] == c {
			delete(s.checks, c.name)
		}
	}, nil
}

// Forget drops all cached answers, so that the next request runs every check. Call it after a
// change that must be visible at once.
func (s *Set) Forget() {
	for _, c := range s.all() {
		c.forget()
	}
}

// Outcome is the outcome of one check.
type Outcome struct {
	Name string
	// Err is nil if the check is in order. It wraps ErrNoAnswer for a check that did not return in
	// time, and is a *run.PanicError for one that panicked.
	Err error
	// Excused is the problem of an excused check, whose Err is nil. It is nil for any other check.
	Excused *ExcusedError
}

func outcomeOf(name string, err error) Outcome {
	if e, ok := err.(*ExcusedError); ok {
		return Outcome{Name: name, Excused: e}
	}
	return Outcome{Name: name, Err: err}
}

// Check runs the checks except those in leaveOut, and returns their outcomes sorted by name. It
// returns when all checks have returned, Options.Timeout is over, or ctx ends. A check that has not
// returned by then fails: with ErrNoAnswer after the timeout, or with the cause of ctx.
func (s *Set) Check(ctx context.Context, leaveOut ...string) []Outcome {
	outcomes, _ := s.outcomes(ctx, 0, leaveOut)
	return outcomes
}

// Err runs all checks and joins the errors of those that fail. It returns nil if none fails.
func (s *Set) Err(ctx context.Context) error {
	var all []error
	for _, r := range s.Check(ctx) {
		if r.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", r.Name, r.Err))
		}
	}
	return errors.Join(all...)
}

// outcomes runs the checks except those in leaveOut, and sorts their outcomes. left are the names in
// leaveOut that a check has.
func (s *Set) outcomes(ctx context.Context, age time.Duration, leaveOut []string) (out []Outcome, left []string) {
	all := s.all()
	single := map[string]bool{} // by name: false for a group
	for _, c := range all {
		single[c.name] = !c.group
	}
	asked := slices.DeleteFunc(all, func(c *check) bool { return slices.Contains(leaveOut, c.name) })
	for _, name := range leaveOut {
		if _, ok := single[name]; ok {
			left = append(left, name)
		}
	}
	for i, outcomes := range askAll(ctx, asked, age) {
		for _, r := range outcomes {
			switch {
			case !asked[i].group || r.Name == asked[i].name:
				out = append(out, r)
			case slices.Contains(leaveOut, r.Name):
				left = append(left, r.Name)
			case !single[r.Name]:
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Outcome) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(left)
	return out, slices.Compact(left)
}

// all returns the checks and groups.
func (s *Set) all() []*check {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.checks))
}

// nameBytes are the bytes that a name may have.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"

func validName(name string) bool {
	return name != "" && len(name) <= 128 && name != "." && name != ".." && strings.Trim(name, nameBytes) == ""
}
