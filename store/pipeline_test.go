package store_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

var podKind = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}

// newEntry returns an object as it comes over the wire.
func newEntry(t interface{ Fatal(...any) }, key object.Key, uid string, version int, app string) *store.Entry {
	json := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":"%d","labels":{"app":%q}}}`,
		key.Namespace, key.Name, uid, version, app)
	e, err := store.NewEntry(wire.Raw{Kind: podKind, Encoding: wire.JSON, Bytes: []byte(json)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestPipelineAgreesWithMaps drives a store and queues of changes by random operations against plain
// maps. The server changes objects and is restored from a backup. The connection is lost and
// resumed. Lists are read in parts, broken off or restarted. A consumer and two handlers take at
// random times. FLYBALL_LONG=1 makes it 1,000,000 operations.
func TestPipelineAgreesWithMaps(t *testing.T) {
	const steps = 500
	checks := 100
	if testing.Short() {
		checks = 50 // of which rapid makes a fifth
	}
	if os.Getenv("FLYBALL_LONG") != "" {
		checks = 2000
	}
	if f := flag.Lookup("rapid.checks"); f != nil {
		was := f.Value.String()
		if err := f.Value.Set(fmt.Sprint(checks)); err != nil {
			t.Fatal(err)
		}
		defer f.Value.Set(was)
	}
	done := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range steps {
			m.step()
		}
		m.settle()
		for op, n := range m.done {
			done[op] += n
		}
	})
	for _, op := range slices.Sorted(maps.Keys(done)) {
		t.Logf("%-22s %7d", op, done[op])
	}
}

// model is the environment of a store, in plain maps.
type model struct {
	t    *rapid.T
	done map[string]int

	// The server: its live objects, its version, and every event it sent.
	live    map[object.Key]*store.Entry
	version int
	uids    int
	events  []event
	backup  map[object.Key]*store.Entry
	backed  int // version of the backup

	// The connection: how many events were received, and the list being read, if any.
	connected bool
	received  int
	list      []*store.Entry
	listing   bool
	listAt    int  // number of events that the list includes
	resetOwed bool // the server went back, and no list has completed since

	store *store.Store
	txn   *store.Txn
	// relisting: a list comes in. before is the state that readers see meanwhile.
	relisting bool
	before    *store.Snapshot
	// sent are the calls of a transaction that the server has caused, and the consumer has not made.
	sent []func()
	// went holds the incarnations that ended and are not reported yet.
	went map[types.UID]object.Key

	reported map[object.Key]*store.Entry // according to the changes of the store
	handlers [2]*handler
}

type event struct {
	entry *store.Entry
	gone  bool
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, done: map[string]int{}, live: map[object.Key]*store.Entry{}, store: store.New(store.Checked(store.Options{})),
		went: map[types.UID]object.Key{}, reported: map[object.Key]*store.Entry{}}
	for i := range m.handlers {
		m.handlers[i] = &handler{t: t, queue: delta.New(), shown: map[object.Key]*store.Entry{}, owed: map[types.UID]object.Key{}}
	}
	if err := m.store.AddIndex("app", store.ByLabel("app")); err != nil {
		t.Fatal(err)
	}
	return m
}

// draw returns a number below n, evenly distributed, where rapid.IntRange prefers small ones. Zero
// stays zero, for the shrinker.
func (m *model) draw(n int, label string) int {
	x := rapid.Uint64().Draw(m.t, label)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(n))
}

func (m *model) step() {
	ops := []struct {
		weight int
		name   string
		can    bool
		do     func()
	}{
		{34, "server writes", true, m.write},
		{10, "server deletes", true, m.remove},
		{2, "server backs up", true, func() { m.backup, m.backed = maps.Clone(m.live), m.version }},
		{1, "server restored", m.backup != nil, m.restore},
		{4, "connection lost", m.connected, func() { m.connected = false }},
		{6, "watch resumed", !m.connected && !m.listing && m.received > 0, m.resume},
		{6, "list begins", !m.connected, m.beginList},
		{20, "list goes on", m.listing, m.readList},
		{2, "list breaks off", m.listing, func() { m.listing, m.list = false, nil; m.later(m.abort) }},
		{3, "stale event", m.connected, m.stale},
		{10, "consumer takes", true, m.consume},
		{10, "handler takes one", true, func() { m.handlers[m.draw(2, "handler")].next() }},
		{2, "handler takes all", true, func() { m.handlers[m.draw(2, "handler")].drain() }},
		{1, "index comes or goes", true, m.toggleIndex},
	}
	total := 0
	for _, op := range ops {
		if op.can {
			total += op.weight
		}
	}
	at := m.draw(total, "op")
	for _, op := range ops {
		if !op.can {
			continue
		}
		if at -= op.weight; at < 0 {
			m.done[op.name]++
			op.do()
			return
		}
	}
}

func (m *model) key() object.Key {
	n := m.draw(12, "key")
	return object.Key{Namespace: string(rune('a' + n%3)), Name: fmt.Sprint("pod-", n)}
}

func (m *model) write() {
	k := m.key()
	m.version++
	app := []string{"web", "db", "cache"}[m.draw(3, "app")]
	uid := ""
	if was := m.live[k]; was != nil {
		uid = string(was.Header().UID)
	} else {
		m.uids++
		uid = fmt.Sprint("uid-", m.uids)
	}
	e := newEntry(m.t, k, uid, m.version, app)
	m.live[k] = e
	m.send(event{entry: e})
}

func (m *model) remove() {
	k := m.key()
	was := m.live[k]
	if was == nil {
		return
	}
	m.version++
	delete(m.live, k)
	m.send(event{newEntry(m.t, k, string(was.Header().UID), m.version, was.Header().Labels["app"]), true})
}

func (m *model) send(e event) {
	m.events = append(m.events, e)
	if m.connected {
		m.receive()
	}
}

func (m *model) receive() {
	e := m.events[m.received]
	m.received++
	key := e.entry.Key()
	if e.gone {
		m.later(func() { m.txn.Delete(key, e.entry) })
		m.went[e.entry.UID()] = key
		return
	}
	m.later(func() { m.txn.Put(e.entry) })
}

func (m *model) resume() {
	m.connected = true
	for m.received < len(m.events) {
		m.receive()
	}
}

// restore takes the server back in time. The reflector notices and lists with a reset.
func (m *model) restore() {
	m.live, m.version, m.events, m.received = maps.Clone(m.backup), m.backed, nil, 0
	m.connected, m.resetOwed = false, true
	m.beginList()
}

func (m *model) beginList() {
	m.listing, m.list = true, nil
	for _, k := range slices.SortedFunc(maps.Keys(m.live), object.Key.Compare) {
		m.list = append(m.list, m.live[k])
	}
	m.listAt = len(m.events)
	reset := m.resetOwed
	m.later(func() { m.replace(reset) })
}

func (m *model) readList() {
	for range min(len(m.list), 1+m.draw(8, "page")) {
		e := m.list[0]
		m.later(func() { m.txn.Put(e) })
		m.list = m.list[1:]
	}
	if len(m.list) > 0 {
		return
	}
	m.later(m.sweep)
	m.listing, m.resetOwed, m.received = false, false, m.listAt
	clear(m.went)
	m.resume()
}

// stale repeats an old state of a live object.
func (m *model) stale() {
	if m.received == 0 {
		return
	}
	last := min(m.received, 50)
	e := m.events[m.received-last+m.draw(last, "event")]
	if is := m.live[e.entry.Header().Key]; !e.gone && is != nil && is.Header().UID == e.entry.Header().UID {
		m.later(func() { m.txn.Put(e.entry) })
	}
}

func (m *model) toggleIndex() {
	var err error
	if store.HasIndex(m.store.Snapshot(), "second") {
		err = m.store.RemoveIndex("second")
	} else {
		err = m.store.AddIndex("second", store.ByLabel("app"))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// later has the consumer make a call on its transaction.
func (m *model) later(call func()) { m.sent = append(m.sent, call) }

// replace begins a list, in a transaction of its own. One that is open is given up.
func (m *model) replace(reset bool) {
	if m.relisting {
		m.abort()
	}
	m.report(m.txn.Commit())
	m.before, m.relisting = m.store.Snapshot(), true
	if m.txn = m.store.Begin(); reset {
		m.txn.Reset()
	} else {
		m.txn.Replace()
	}
}

func (m *model) sweep() {
	m.txn.Sweep()
	if m.store.Snapshot() != m.before {
		m.t.Fatal("a relist shows before its end")
	}
	m.report(m.txn.Commit())
	m.txn, m.relisting = m.store.Begin(), false
}

func (m *model) abort() {
	m.txn.Discard()
	m.txn, m.relisting = m.store.Begin(), false
}

// consume makes the calls, as an informer does.
func (m *model) consume() {
	if m.txn == nil {
		m.txn = m.store.Begin()
	}
	m.before = m.store.Snapshot()
	for _, call := range m.sent {
		call()
	}
	m.sent = nil
	if m.relisting {
		return
	}
	m.report(m.txn.Commit())
	m.txn = nil
	for uid, key := range m.went {
		m.t.Fatalf("the end of %s %s was lost", key, uid)
	}
	m.check()
}
