package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// maxProblems bounds the objects that an error names.
const maxProblems = 10

// loading adds objects to a state. It asks rules for several at a time. Its methods are for one goroutine.
type loading struct {
	state *core.State
	now   time.Time

	kinds   *kinds // nil until all definitions are added
	view    core.View
	defined bool // no more definitions may come

	strict bool // fields that a built-in kind does not have are problems

	slots chan struct{}
	wg    sync.WaitGroup

	mu       sync.Mutex
	objects  []*core.Object
	numbers  map[string]int // of documents, by key
	problems []problem
}

// problem is the error about one object.
type problem struct {
	number int
	err    error
}

func newLoading(s *core.State, now time.Time) *loading {
	return &loading{state: s, now: now, slots: make(chan struct{}, 4*runtime.GOMAXPROCS(0)), numbers: map[string]int{}}
}

// identity has the fields that are read of an object before rules read it.
type identity struct {
	metav1.TypeMeta
	Metadata struct{ Name, Namespace, UID, ResourceVersion string }
}

func (i identity) String() string {
	name := i.Metadata.Name
	if i.Metadata.Namespace != "" {
		name = i.Metadata.Namespace + "/" + name
	}
	return strings.TrimSpace(i.APIVersion + " " + i.Kind + " " + name)
}

var (
	errNoName     = errors.New("it has no apiVersion, kind or metadata.name")
	errNotStored  = errors.New("it has no uid or resourceVersion: a state has objects as they were stored; create others by kubectl apply")
	errDefinition = errors.New("definitions of custom resources come before all other objects")
)

const definition = "CustomResourceDefinition"

// add adds an object. name says in errors where it is; version bounds its version. read returns its JSON, and whether
// that is the stored text, byte for byte.
func (l *loading) add(number int, name string, version uint64, read func() (object []byte, exact bool, err error)) {
	work := func() error {
		object, exact, err := read()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var id identity
		if err := json.Unmarshal(object, &id); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := l.take(number, id, version, object, exact); err != nil {
			return fmt.Errorf("%s: %s: %w", name, id, err)
		}
		return nil
	}
	run := func() {
		if err := work(); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.problems = append(l.problems, problem{number, err})
		}
	}
	if !l.defined {
		// Definitions are added one after the other, before the objects that need them.
		run()
		return
	}
	l.slots <- struct{}{}
	l.wg.Go(func() {
		defer func() { <-l.slots }()
		run()
	})
}

// take reads an object by rules, and keeps it.
func (l *loading) take(number int, id identity, version uint64, object []byte, exact bool) error {
	switch {
	case id.Kind == "" || id.APIVersion == "" || id.Metadata.Name == "":
		return errNoName
	case id.Metadata.UID == "" || id.Metadata.ResourceVersion == "":
		return errNotStored
	}
	if defines := strings.HasPrefix(id.APIVersion, "apiextensions.k8s.io/") && id.Kind == definition; defines && l.defined {
		return errDefinition
	} else if !defines && !l.defined {
		l.define()
	}
	path, err := l.path(id)
	if err != nil {
		return err
	}
	if l.strict {
		path += "?fieldValidation=" + metav1.FieldValidationStrict
	}
	o, err := l.view.Recall(l.now, path, object, exact)
	if err != nil {
		return err
	}
	if version > 0 && o.Version > version {
		return fmt.Errorf("its resourceVersion %d is above the version of the state, %d", o.Version, version)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, twice := l.numbers[o.Key]; twice {
		return fmt.Errorf("it is the object of document %d, too", min(first, number))
	}
	l.numbers[o.Key] = number
	l.objects = append(l.objects, o)
	return nil
}

// path returns the path of an object in a version that is served.
func (l *loading) path(id identity) (string, error) {
	if !l.defined {
		l.view = l.state.Now()
		return "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + id.Metadata.Name, nil
	}
	return l.kinds.path(id)
}

// define adds the definitions so far to the state, and learns the kinds that it then serves.
func (l *loading) define() {
	l.state.Fill(l.objects...)
	l.objects = nil
	l.view = l.state.Now()
	l.kinds = readKinds(l.view, l.now)
	l.defined = true
}

// failed reports whether there are more problems than an error names.
func (l *loading) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.problems) >= maxProblems
}

func (l *loading) wait() { l.wg.Wait() }

// end waits for all objects and adds them to the state. The error names those with problems.
func (l *loading) end() error {
	l.wait()
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b problem) int { return cmp.Compare(a.number, b.number) })
		var errs []error
		for _, p := range l.problems[:min(len(l.problems), maxProblems)] {
			errs = append(errs, p.err)
		}
		return errors.Join(errs...)
	}
	l.state.Fill(l.objects...)
	return nil
}
