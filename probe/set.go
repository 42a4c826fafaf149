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
)

var (
	// ErrName says that a name is not made of letters, digits and "-_.:" alone, or is too long.
	ErrName = errors.New("a name has letters, digits and -_.: only, 1 to 128 of them")
	// ErrTaken says that a name is taken.
	ErrTaken = errors.New("name is taken")
	// ErrNoCheck says that a check is nil.
	ErrNoCheck = errors.New("check is nil")
	// ErrNoAnswer says that a check did not return in time. It is the cause with which its ctx ends.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrNotAsked is the cause with which the ctx of a check ends when nobody waits for it any more.
	ErrNotAsked = errors.New("nobody waits for the answer")
)

// NameError says which name of a set or a check cannot be as it is, and why.
type NameError struct {
	// Set is the name of the set, and Check that of the check; empty if it is the set's that is
	// wrong.
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

// Check returns nil if all is well, or what is not. It is called on a goroutine of its own, never
// twice at once, and should return soon after ctx ends. What its error says can be read by whoever
// may ask, so it must not name secrets.
type Check func(ctx context.Context) error

// Options say how a Set checks. They are read by New, once.
type Options struct {
	// Timeout is how long a check may take before it counts as failed. Zero or negative: 5 s.
	Timeout time.Duration
	// Withhold keeps the reasons of failures to the log: answers say only which check failed.
	Withhold bool
	// Logger is told when a check begins to fail, and when it no longer does. Nil: slog.Default().
	Logger *slog.Logger
}

// Set is some checks under one name: "readyz". All methods may be called from any goroutine.
type Set struct {
	name string
	o    Options

	mu     sync.Mutex
	checks map[string]*check
}

// New returns a set without checks, which is in order. Its name is the path of its Handler.
func New(name string, o Options) (*Set, error) {
	if !validName(name) {
		return nil, &NameError{Set: name, Err: ErrName}
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = o.Logger.With("probe", name)
	return &Set{name: name, o: o, checks: map[string]*check{}}, nil
}

// Name is the name that the set was given.
func (s *Set) Name() string { return s.name }

// Add adds a check. The error is a *NameError. Calling remove takes the check out, and its name is
// free again; it does not wait for the check to return. Calling it twice is fine.
func (s *Set) Add(name string, f Check) (remove func(), err error) {
	if !validName(name) {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrName}
	}
	if f == nil {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrNoCheck}
	}
	c := &check{name: name, f: f, o: s.o}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checks[name] != nil {
		return nil, &NameError{Set: s.name, Check: name, Err: ErrTaken}
	}
	s.checks[name] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.checks[name] == c {
			delete(s.checks, name)
		}
	}, nil
}

// Result is what became of one check.
type Result struct {
	Name string
	// Err is nil if all is well; ErrNoAnswer, wrapped, for a check that did not return in time; a
	// *run.PanicError for one that panicked.
	Err error
}

// Check runs the checks, but for those left out, and returns what became of each, in the order of
// their names. It returns at the latest when the time for a check is over, or ctx ends; then those
// that have not returned have its cause.
func (s *Set) Check(ctx context.Context, leaveOut ...string) []Result {
	return askAll(ctx, s.chosen(func(name string) bool { return !slices.Contains(leaveOut, name) }))
}

// Err is nil if all is well, or joins what Check says of each that is not.
func (s *Set) Err(ctx context.Context) error {
	var all []error
	for _, r := range s.Check(ctx) {
		if r.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", r.Name, r.Err))
		}
	}
	return errors.Join(all...)
}

// chosen are the checks whose names are wanted, in their order.
func (s *Set) chosen(wanted func(string) bool) []*check {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*check
	for c := range maps.Values(s.checks) {
		if wanted(c.name) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *check) int { return cmp.Compare(a.name, b.name) })
	return out
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
