package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
)

var (
	// ErrName says that a name has other characters than letters, digits and "-_.:", or a length
	// outside of 1 to 128.
	ErrName = errors.New("a name must have 1 to 128 letters, digits or any of -_.: in it")
	// ErrTaken says that another check has the name.
	ErrTaken = errors.New("name is taken")
	// ErrNoCheck says that a check is nil.
	ErrNoCheck = errors.New("check is nil")
	// ErrNoAnswer says that a check did not return within Options.Timeout. It is also the cause
	// that ends the check's ctx.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrNotAsked is the cause that ends the ctx of a check when its last caller has left.
	ErrNotAsked = errors.New("all callers have left")
)

// NameError says which name of a set or check is invalid, and why.
type NameError struct {
	// Set and Check are the names of the set and the check. Check is empty if the set's name is the
	// invalid one.
	Set, Check string
	Err        error
}

func (e *NameError) Error() string {
	if e.Check == "" {
		return fmt.Sprintf("probe %q: %s", e.Set, e.Err)
	}
	return fmt.Sprintf("probe %q: check %q: %s", e.Set, e.Check, e.Err)
}

func (e *NameError) Unwrap() error { return e.Err }

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
	checks map[string]*check
	groups map[string]*check
}

// New returns a set without checks; it is in order. Its name is the path of its Handler. The error
// is a *NameError.
func New(name string, o Options) (*Set, error) {
	if !validName(name) {
		return nil, &NameError{Set: name, Err: ErrName}
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	o.Logger = logguard.Logger(o.Logger)
	o.Logger = o.Logger.With("probe", name)
	return &Set{name: name, o: o, checks: map[string]*check{}, groups: map[string]*check{}}, nil
}

// Name returns the name of the set.
func (s *Set) Name() string { return s.name }

// Add adds a check. The error is a *NameError. remove removes the check and frees its name, without
// waiting for the check to return. It may be called more than once.
func (s *Set) Add(name string, f Check) (remove func(), err error) {
	if !validName(name) {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrName}
	}
	if f == nil {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrNoCheck}
	}
	return s.add(&check{name: name}, func(ctx context.Context) ([]Result, error) {
		return []Result{resultOf(name, f(ctx))}, nil
	})
}

// AddGroup adds a group of checks. Excluding its name excludes all of its checks. A check from Add
// hides a check with the same name in a group. Error and remove are as for Add.
func (s *Set) AddGroup(name string, f Group) (remove func(), err error) {
	if !validName(name) {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrName}
	}
	if f == nil {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrNoCheck}
	}
	return s.add(&check{name: name, group: true}, func(ctx context.Context) ([]Result, error) {
		all := f(ctx)
		out := make([]Result, 0, len(all))
		for name, err := range all {
			if !validName(name) {
				err, name = errors.Join(fmt.Errorf("%q: %w", name, ErrName), err), "unnamed"
			}
			out = append(out, resultOf(name, err))
		}
		return out, nil
	})
}

func (s *Set) add(c *check, f func(context.Context) ([]Result, error)) (remove func(), err error) {
	c.f, c.o = f, s.o
	to := s.checks
	if c.group {
		to = s.groups
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if to[c.name] != nil {
		return nil, &NameError{Set: s.name, Check: c.name, Err: ErrTaken}
	}
	to[c.name] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if to[c.name] == c {
			delete(to, c.name)
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

// Result is the outcome of one check.
type Result struct {
	Name string
	// Err is nil if the check is in order. It wraps ErrNoAnswer for a check that did not return in
	// time, and is a *run.PanicError for one that panicked.
	Err error
	// Excused is the problem of an excused check, whose Err is nil. It is nil for any other check.
	Excused *ExcusedError
}

func resultOf(name string, err error) Result {
	if e, ok := err.(*ExcusedError); ok {
		return Result{Name: name, Excused: e}
	}
	return Result{Name: name, Err: err}
}

// Check runs the checks except those in leaveOut, and returns their results sorted by name. It
// returns when all checks have returned, Options.Timeout is over, or ctx ends. A check that has not
// returned by then fails: with ErrNoAnswer after the timeout, or with the cause of ctx.
func (s *Set) Check(ctx context.Context, leaveOut ...string) []Result {
	return s.results(ctx, 0, nameSet(leaveOut))
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

// results runs the checks except those in leaveOut, and sorts their results.
func (s *Set) results(ctx context.Context, age time.Duration, leaveOut map[string]bool) []Result {
	all := s.all()
	asked := slices.DeleteFunc(all, func(c *check) bool { return leaveOut[c.name] })
	var out []Result
	for i, results := range askAll(ctx, asked, age) {
		for _, r := range results {
			if asked[i].group && r.Name != asked[i].name && (leaveOut[r.Name] || s.has(r.Name)) {
				continue
			}
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Result) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// all returns the checks and groups.
func (s *Set) all() []*check {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(s.checks)), maps.Values(s.groups))
}

// has reports whether Add has added a check with this name.
func (s *Set) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks[name] != nil
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

func validName(name string) bool {
	if name == "" || len(name) > 128 || name == "." || name == ".." {
		return false
	}
	for _, b := range []byte(name) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_', b == '.', b == ':':
		default:
			return false
		}
	}
	return true
}
