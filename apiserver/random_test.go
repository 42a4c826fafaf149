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

	"github.com/flyball-io/flyball/test/plane"
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

// Both servers answer the same random calls alike: about kinds that are built in, and about those of drawn definitions,
// by an administrator and by users with drawn roles. The server in memory has on disk what earlier processes of it have
// learned. What fails is made as short as possible, and printed call by call. Sequences run side by side.
func TestRandomCallsAreAnsweredAlike(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	wanted, first := int64(number(t, callsEnv, 2000)), uint64(number(t, firstEnv, 0))
	if os.Getenv("FLYBALL_LONG") != "" && os.Getenv(callsEnv) == "" {
		wanted = 100_000
	}
	r := newRig(t)
	r.process()
	for i := range r.servers {
		define(r.session(i, "random"), "widgets", "Widget", widgetVersion)
	}
	var namespaces []string
	for range randomWorkers {
		namespaces = append(namespaces, r.namespace())
	}
	c := &campaign{rig: r, wanted: wanted, began: time.Now()}
	// So many sequences are made in one process, so that the short form has some, too.
	inProcess := uint64(min(inRound, max(30, wanted/80)))
	for n := first; !c.over(); {
		round := n / inRound
		if n == first || n%inRound == 0 {
			r.begin(round, namespaces)
		}
		end := min(n+inProcess, (round+1)*inRound)
		c.next.Store(n)
		t.Run(fmt.Sprintf("sequences %d to %d", n, end-1), func(t *testing.T) {
			for _, ns := range namespaces {
				t.Run(ns, func(t *testing.T) {
					t.Parallel()
					c.work(t, ns, end)
				})
			}
		})
		if n = end; n%inRound == 0 {
			r.end(round)
		}
		r.process()
	}
	t.Logf("%d calls in %d sequences, %v; %d sequences differed only when a second ended; %d namespaces", c.calls.Load(), c.sequences.Load(), time.Since(c.began).Round(time.Second), c.byTheClock.Load(), r.fresh.Load())
}

// campaign counts the calls to a rig.
type campaign struct {
	rig    *rig
	wanted int64
	began  time.Time

	next                                      atomic.Uint64 // sequence
	sequences, calls, differences, byTheClock atomic.Int64
}

func (c *campaign) over() bool {
	return c.calls.Load() >= c.wanted || c.differences.Load() >= maxDifferences
}

// work makes sequences in a namespace, up to number end.
func (c *campaign) work(t *testing.T, namespace string, end uint64) {
	for !c.over() {
		n := c.next.Add(1) - 1
		if n >= end {
			return
		}
		c.sequences.Add(1)
		q := newSequence(n)
		fails := func(q sequence) string {
			d, inOne := c.rig.difference(t, q, &namespace)
			for again := 0; d != "" && !inOne && again < mostAgain; again++ {
				time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // the event is the clock: a second begins
				before := d
				if d, inOne = c.rig.difference(t, q, &namespace); d == "" {
					c.byTheClock.Add(1)
					t.Logf("sequence %d, only when a second ends between the two servers (-real +memory):\n%s%s", n, q, before)
				}
			}
			return d
		}
		if d := fails(q); d != "" {
			c.differences.Add(1)
			q, d = q.shrink(d, fails)
			t.Errorf("sequence %d (-real +memory):\n%s%s", n, q, d)
		}
		const step = 5000
		if before, now := c.calls.Load(), c.calls.Add(q.size()); now/step != before/step {
			fmt.Fprintf(os.Stderr, "%d of %d calls, %d differences, %v\n", now, c.wanted, c.differences.Load(), time.Since(c.began).Round(time.Second))
		}
	}
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
	kinds := randomKinds
	if d.IntN(2) == 0 {
		kinds = definitionsOf(n / inRound)[d.IntN(drawnInRound)].kinds
	}
	q := sequence{kinds: []randomKind{kinds[d.IntN(len(kinds))]}}
	if d.IntN(2) == 0 {
		kinds = randomKinds
	}
	if other := kinds[d.IntN(len(kinds))]; other.path != q.kinds[0].path && !repairs(q.kinds[0], other) {
		q.kinds = append(q.kinds, other)
	}
	for i := range q.kinds {
		k, pool := &q.kinds[i], shaped
		if k.pool != nil {
			pool = k.pool
		}
		if k.names = []string{"a", "b", "c"}; k.pool != nil || d.IntN(2) == 0 {
			k.names = []string{d.pick(pool...), d.pick(pool...), d.pick(pool...), d.pick(pool...)}
		}
	}
	users := d.IntN(3) == 0
	for range 1 + d.IntN(callsInARow) {
		c := d.call(q.kinds[d.IntN(len(q.kinds))])
		if users && d.IntN(2) == 0 {
			c.user = userName(d.IntN(usersInRound))
		}
		q.calls = append(q.calls, c)
	}
	return q
}

// size is the number of requests that a sequence is counted as.
func (q sequence) size() (n int64) {
	for _, c := range q.calls {
		n += max(c.size, 1)
	}
	return n
}

const randomServices, randomEvents = "~/services", "~/events"

// repairs reports whether two kinds are Services and Events. A loop of the real server that checks the addresses of
// Services sometimes is faster than their allocation, and writes an Event.
func repairs(a, b randomKind) bool {
	return a.path == randomServices && b.path == randomEvents || a.path == randomEvents && b.path == randomServices
}

func (q sequence) String() string {
	var b strings.Builder
	for i, c := range q.calls {
		fmt.Fprintf(&b, "%d. %s %s\n", i, c.name, c.user)
	}
	return b.String()
}

// difference makes the calls of a sequence to both servers in a namespace, and says what differs; "" if nothing does. A
// namespace that does not get empty afterwards is replaced. inOne reports whether all calls were made in one second of
// the clock: an apply that changes nothing makes a version if a second has ended since that of another manager, and so
// it matters between which calls one ends.
func (r *rig) difference(t *testing.T, q sequence, namespace *string) (differs string, inOne bool) {
	defer r.use(q.kinds)()
	second := time.Now().Unix()
	defer func() { inOne = time.Now().Unix() == second }()
	if slices.ContainsFunc(q.kinds, func(k randomKind) bool { return k.path == randomServices }) {
		own := r.namespace() // the Events of the loop of repairs would be in later sequences
		namespace = &own
	}
	var pair [2]*world
	for i := range pair {
		s := r.session(i, *namespace)
		s.t = t
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
				if !w.clear(k.path) && !k.cluster {
					*namespace = r.namespace()
					return
				}
			}
		}
	}()
	for i, c := range q.calls {
		for n, w := range pair {
			w.client = r.clients[n][c.user]
			c.run(w)
			w.client = r.clients[n][""]
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

// clear removes all objects of a collection, those with finalizers, too. It reports whether none is left.
func (w *world) clear(path string) bool {
	list := func() (out []answer) {
		_, _, text := w.send("GET", w.path(path), "")
		var l struct{ Items []answer }
		_ = json.Unmarshal(text, &l) // a failure has no items
		return l.Items
	}
	w.send("DELETE", w.path(path), `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
	for _, o := range list() {
		one := w.path(path + "/" + o.Metadata.Name)
		w.send("PATCH", one, `{"metadata":{"finalizers":null}}`, "Content-Type", mergePatch)
		w.send("DELETE", one, `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
	}
	return len(list()) == 0
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
