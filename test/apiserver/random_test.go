package apiserver_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/test/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

const (
	// callsEnv is the environment variable with the number of calls of TestRandomCallsAreAnsweredAlike, and
	// firstEnv that with the number of its first sequence. A sequence of one number is always the same.
	callsEnv = "CALLS"
	firstEnv = "FIRST"
	// callsInARow is the most calls of one sequence. Each sequence has a namespace of its own.
	callsInARow = 40
	// maxDifferences end the test.
	maxDifferences = 10
	// mostAgain bounds how often a sequence that differs is repeated until it fits into one second.
	mostAgain = 10
)

// Both servers answer the same random calls alike. What fails is made as short as possible, and printed call by
// call. Sequences run side by side, each in a namespace of its own.
func TestRandomCallsAreAnsweredAlike(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	wanted, first := int64(number(t, callsEnv, 2000)), int64(number(t, firstEnv, 0))
	if os.Getenv("FLYBALL_LONG") != "" && os.Getenv(callsEnv) == "" {
		wanted = 100_000
	}
	real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	memory := apiserver.Start(t, apiserver.Options{})
	on := [2]session{{client: httpClient(t, real.RESTConfig()), url: real.URL()}, {client: httpClient(t, memory.RESTConfig()), url: memory.URL()}}
	for _, s := range on {
		s.t, s.ns, s.names = t, "random", map[string]string{}
		define(&s, "widgets", "Widget", widgetVersion)
	}
	var sequences, runs, calls, differences, byTheClock atomic.Int64
	began := time.Now()
	t.Run("sequences", func(t *testing.T) {
		for worker := range 8 {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for calls.Load() < wanted && differences.Load() < maxDifferences {
					n := first + sequences.Add(1) - 1
					q := newSequence(uint64(n))
					fails := func(q sequence) string {
						d, inOne := q.difference(t, on, fmt.Sprintf("random-%d", runs.Add(1)))
						for again := 0; d != "" && !inOne && again < mostAgain; again++ {
							time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // the event is the clock: a second begins
							before := d
							if d, inOne = q.difference(t, on, fmt.Sprintf("random-%d", runs.Add(1))); d == "" {
								byTheClock.Add(1)
								t.Logf("sequence %d, only when a second ends between the two servers (-real +memory):\n%s%s", n, q, before)
							}
						}
						return d
					}
					if d := fails(q); d != "" {
						differences.Add(1)
						q, d = q.shrink(d, fails)
						t.Errorf("sequence %d (-real +memory):\n%s%s", n, q, d)
					}
					const step = 5000
					if before, now := calls.Load(), calls.Add(int64(len(q.calls))); now/step != before/step {
						fmt.Fprintf(os.Stderr, "%d of %d calls, %d differences, %v\n", now, wanted, differences.Load(), time.Since(began).Round(time.Second))
					}
				}
			})
		}
	})
	t.Logf("%d calls in %d sequences, %v; %d sequences differed only when a second ended", calls.Load(), sequences.Load(), time.Since(began).Round(time.Second), byTheClock.Load())
}

// number returns the number that an environment variable has.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// sequence are calls about one or two kinds.
type sequence struct {
	kinds []randomKind
	calls []call
}

// newSequence returns the sequence of a number.
func newSequence(n uint64) sequence {
	d := dice{rand.New(rand.NewPCG(n, 1))}
	q := sequence{kinds: []randomKind{randomKinds[d.IntN(len(randomKinds))]}}
	if other := randomKinds[d.IntN(len(randomKinds))]; other.path != q.kinds[0].path && !repairs(q.kinds[0], other) {
		q.kinds = append(q.kinds, other)
	}
	for range 1 + d.IntN(callsInARow) {
		q.calls = append(q.calls, d.call(q.kinds[d.IntN(len(q.kinds))]))
	}
	return q
}

// repairs reports whether two kinds are Services and Events. A loop of the real server that checks the addresses of
// Services sometimes is faster than their allocation, and writes an Event.
func repairs(a, b randomKind) bool {
	const services, events = "~/services", "~/events"
	return a.path == services && b.path == events || a.path == events && b.path == services
}

func (q sequence) String() string {
	var b strings.Builder
	for i, c := range q.calls {
		fmt.Fprintf(&b, "%d. %s\n", i, c.name)
	}
	return b.String()
}

// difference makes the calls to both servers, and says what differs; "" if nothing does. inOne reports whether all calls
// were made in one second of the clock: an apply that changes nothing makes a version if a second has ended since that
// of another manager, and so it matters between which calls one ends.
func (q sequence) difference(t *testing.T, on [2]session, namespace string) (differs string, inOne bool) {
	second := time.Now().Unix()
	defer func() { inOne = time.Now().Unix() == second }()
	var pair [2]*world
	for i := range pair {
		s := &session{t: t, client: on[i].client, url: on[i].url, ns: namespace, names: map[string]string{}}
		s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
		for _, k := range q.kinds {
			s.loose = s.loose || strings.HasSuffix(k.path, "/jobs")
		}
		pair[i] = &world{session: s, seen: map[string][]answer{}, since: map[string]string{}}
	}
	compare := func(name string) string {
		a, b := pair[0].out, pair[1].out
		pair[0].out, pair[1].out = nil, nil
		if slices.Equal(a, b) {
			return ""
		}
		return name + ":\n" + gocmp.Diff(strings.Split(strings.Join(a, "\n"), "\n"), strings.Split(strings.Join(b, "\n"), "\n"))
	}
	defer func() {
		for _, w := range pair {
			for _, k := range q.kinds {
				w.send("DELETE", w.path(k.path), "")
			}
		}
	}()
	for i, c := range q.calls {
		for _, w := range pair {
			c.run(w)
		}
		if d := compare(fmt.Sprintf("call %d", i)); d != "" {
			return d, false
		}
	}
	for _, w := range pair {
		w.watches(q.kinds)
	}
	return compare("what watches have seen"), false
}

// shrink leaves calls out as long as the rest fails, too. It returns that rest, and how it fails.
func (q sequence) shrink(difference string, fails func(sequence) string) (sequence, string) {
	for shorter := true; shorter; {
		shorter = false
		for i := len(q.calls) - 1; i >= 0; i-- {
			less := sequence{q.kinds, slices.Delete(slices.Clone(q.calls), i, i+1)}
			if d := fails(less); d != "" {
				q, difference, shorter = less, d, true
			}
		}
	}
	return q, difference
}

// world is a session and what it remembers of the objects that it has seen.
type world struct {
	*session
	seen map[string][]answer // by path, in order
	// since are the versions from which collections are watched, at the earliest: those after their last mass deletion.
	since map[string]string
}

// remember keeps an answer that is an object. A dry run repeats the version of its body, which may be any.
func (w *world) remember(path string, a answer) {
	if a.Metadata.ResourceVersion != "" && a.Metadata.ResourceVersion != anyVersion && a.Metadata.UID != "" {
		w.seen[path] = append(w.seen[path], a)
	}
}

// last returns the n-th last answer about an object; the zero answer if there is none.
func (w *world) last(path string, n int) answer {
	all := w.seen[path]
	if len(all) == 0 {
		return answer{}
	}
	return all[max(0, len(all)-1-n)]
}

// watches has each kind watched from the first version that the world remembers of it, to the deletion of an object
// that is created now. The deletion of an object with finalizers, as claims have, is a change.
func (w *world) watches(kinds []randomKind) {
	for _, k := range kinds {
		var first string
		for path, all := range w.seen {
			if v := all[0].Metadata.ResourceVersion; strings.HasPrefix(path, k.path+"/") && (first == "" || older(v, first)) {
				first = v
			}
		}
		if first == "" {
			continue
		}
		if older(first, w.since[k.path]) {
			first = w.since[k.path]
		}
		end := w.send2("POST", w.path(k.path), strings.ReplaceAll(k.body("the-end"), "NS", w.ns))
		w.delete(k.path+"/the-end", `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
		if end != http.StatusCreated {
			continue
		}
		resp := w.request("GET", w.path(k.path+"?watch=1&timeoutSeconds=60&resourceVersion="+first), "")
		d := json.NewDecoder(resp.Body)
		for last := false; !last; {
			var e struct {
				Type   string
				Object json.RawMessage
			}
			if err := d.Decode(&e); err != nil {
				w.note("the watch ended: %v", err)
				break
			}
			var a answer
			_ = json.Unmarshal(e.Object, &a) // a failure has no name
			last = a.Metadata.Name == "the-end" && e.Type != "ADDED"
			w.note("%s\n%s", e.Type, w.normal(e.Object))
		}
		resp.Body.Close()
	}
}

// anyVersion is the version in bodies that have none of their own.
const anyVersion = "5"

// send2 sends a request and returns its code.
func (w *world) send2(method, path, body string) int {
	code, _, _ := w.send(method, path, body)
	return code
}

func older(a, b string) bool { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0 }
