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

// ExcusedError is what a check returns of something that is not in order and does not fail the set: the
// answer with all checks names it, and says why. It counts only as it is, not wrapped or joined.
type ExcusedError struct {
	// Why says why it is excused: "waits for the webhooks of this program".
	Why string
	// Err is what is not in order. It must not be nil.
	Err error
}

func (e *ExcusedError) Error() string { return "excused, " + e.Why + ": " + e.Err.Error() }

func (e *ExcusedError) Unwrap() error { return e.Err }

// Check returns nil if all is well, or what is not; an *ExcusedError does not fail the set. It is called on a goroutine of its own, never
// twice at once, and should return soon after ctx ends. What its error says can be read by whoever
// may ask, so it must not name secrets.
type Check func(ctx context.Context) error

// Group is many checks in one call: what is wrong with each, by name; nil is nothing. Names are those
// of checks. It is called as a Check is; if it panics, or does not return in time, it has failed under
// its own name. The map is the caller's once it is returned.
type Group func(ctx context.Context) map[string]error

// Options say how a Set checks. They are read by New, once.
type Options struct {
	// Timeout is how long a check may take before it counts as failed. Zero or negative: 5 s.
	Timeout time.Duration
	// MaxAge is how long the Handler repeats the last answer of a check, from when that was asked, to
	// those who ask next: what strangers ask for then costs the same however many they are. Check and
	// Err, and the first request after Forget, ask anew. Zero or negative: so does each request.
	MaxAge time.Duration
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
	groups map[string]*check
}

// New returns a set without checks, which is in order. Its name is the path of its Handler.
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
	return s.add(&check{name: name}, func(ctx context.Context) ([]Result, error) {
		return []Result{resultOf(name, f(ctx))}, nil
	})
}

// AddGroup adds a group of checks. Its name stands for all of them where checks are left out. A check
// that was added by itself hides one of the same name in a group. Error and remove are those of Add.
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

// Forget has the next request ask every check, whatever Options.MaxAge says: call it when something
// has changed that must be seen at once.
func (s *Set) Forget() {
	for _, c := range s.all() {
		c.forget()
	}
}

// Result is what became of one check.
type Result struct {
	Name string
	// Err is nil if all is well; ErrNoAnswer, wrapped, for a check that did not return in time; a
	// *run.PanicError for one that panicked.
	Err error
	// Excused is what is not in order, though Err is nil; nil if nothing is.
	Excused *ExcusedError
}

func resultOf(name string, err error) Result {
	if e, ok := err.(*ExcusedError); ok {
		return Result{Name: name, Excused: e}
	}
	return Result{Name: name, Err: err}
}

// Check runs the checks, but for those left out, and returns what became of each, in the order of
// their names. It returns at the latest when the time for a check is over, or ctx ends; then those
// that have not returned have its cause.
func (s *Set) Check(ctx context.Context, leaveOut ...string) []Result {
	return s.results(ctx, 0, nameSet(leaveOut))
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

// results asks all but those left out, and sorts what they say.
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

// all are the checks and groups.
func (s *Set) all() []*check {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(s.checks)), maps.Values(s.groups))
}

// has reports whether there is a check of this name that was added by itself.
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
