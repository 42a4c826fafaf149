package replicas_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/replicas"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

var resources = []replicas.Resource{
	{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"},
	{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment"},
	{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Custom: true},
}

var widgets = object.Key{Name: "widgets.example.com"}

// Several API servers that differ, restart and are upgraded for ten minutes: nobody is told that an object is
// deleted which lives, no object goes back, and a minute after the servers agree the cache equals a list.
func TestSeveralServers(t *testing.T) {
	seeds := 12
	if os.Getenv("FLYBALL_LONG") != "" {
		seeds = 1000
	}
	first := uint64(1)
	if one, err := strconv.ParseUint(os.Getenv("FLYBALL_SEED"), 10, 64); err == nil {
		first, seeds = one, 1
	}
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { (&world{t: t, rand: rand.New(rand.NewPCG(seed, 0))}).play() })
		})
	}
}

// world is one run: the servers, those who change them and their objects, and a cache that is judged.
type world struct {
	t        *testing.T
	rand     *rand.Rand // of the plan and of the writers, which run on one goroutine
	state    *replicas.State
	balancer *replicas.Balancer
	cache    *cache.Cache
	views    []*view
}

// view is what a subscriber was told of a resource.
type view struct {
	w    *world
	of   replicas.Resource
	mu   sync.Mutex
	held map[object.Key]object.Header
	ends map[string]bool // the uids of told deletes
}

func (w *world) play() {
	w.state = replicas.NewState()
	w.state.Put(replicas.Definitions, widgets)
	w.balancer = replicas.New(rand.New(rand.NewPCG(w.rand.Uint64(), 1)), w.state, 2+w.rand.IntN(2), w.rand.IntN(2) == 0, resources...)
	defer w.balancer.Shutdown()
	for _, s := range w.balancer.Servers {
		s.Start(w.manner())
	}
	for range 20 {
		w.write()
	}
	stop := w.open()
	defer stop()
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
		time.Sleep(time.Duration(w.rand.IntN(1500)) * time.Millisecond)
		w.write()
		if w.rand.IntN(12) == 0 {
			w.disturb()
		}
		if w.t.Failed() {
			return
		}
	}
	w.heal()
	time.Sleep(time.Minute)
	for _, v := range w.views {
		v.equalsAList()
	}
}

// manner draws how a server behaves: the version that it runs, and its flags.
func (w *world) manner() replicas.Manner {
	m := replicas.Manner{Streams: w.rand.IntN(2) == 0, Lag: time.Duration(w.rand.IntN(5)*w.rand.IntN(5)) * time.Second, Lacks: map[string]bool{}}
	m.Clock = time.Duration(w.rand.IntN(5)-2) * time.Hour
	for _, r := range resources {
		m.Lacks[r.Plural] = w.rand.IntN(4) == 0
	}
	return m
}

func (w *world) write() {
	r := resources[w.rand.IntN(len(resources))]
	if r.Custom && !w.defined() {
		return
	}
	key := object.Key{Namespace: "ns", Name: fmt.Sprintf("o%d", w.rand.IntN(12))}
	if w.rand.IntN(4) == 0 {
		w.state.Delete(r.Plural, key)
	} else {
		w.state.Put(r.Plural, key)
	}
}

func (w *world) defined() bool { return len(w.state.Content(replicas.Definitions)) > 0 }

// disturb draws what happens to the servers.
func (w *world) disturb() {
	s := w.balancer.Servers[w.rand.IntN(len(w.balancer.Servers))]
	switch w.rand.IntN(8) {
	case 0, 1:
		s.Stop()
	case 2, 3:
		s.Stop()
		s.Start(w.manner())
	case 4:
		m := w.manner()
		s.Change(func(now *replicas.Manner) { now.Lag, now.Stuck = m.Lag, !now.Stuck })
	case 5:
		s.Change(func(now *replicas.Manner) { now.Busy = !now.Busy })
	case 6:
		w.state.Compact()
	case 7:
		w.define(!w.defined())
	}
}

// define makes or deletes the definition of the widgets, which go before.
func (w *world) define(there bool) {
	if there {
		w.state.Put(replicas.Definitions, widgets)
		return
	}
	for key := range w.state.Content("widgets") {
		w.state.Delete("widgets", key)
	}
	w.state.Delete(replicas.Definitions, widgets)
}

// heal makes all servers alike.
func (w *world) heal() {
	if !w.defined() {
		w.define(true)
	}
	for _, s := range w.balancer.Servers {
		m := replicas.Manner{Streams: true}
		if s.Up() == nil {
			s.Start(m)
		} else {
			s.Change(func(now *replicas.Manner) { *now = m })
		}
	}
}

// open runs a cache of all resources.
func (w *world) open() (stop func()) {
	t := w.t
	transport := &http.Transport{DialContext: w.balancer.Dial, MaxIdleConnsPerHost: 100}
	live, err := client.New(&rest.Config{Host: "http://api.test", Transport: transport}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.cache, err = cache.New(cache.Connect(live), cache.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources {
		v := &view{w: w, of: r, held: map[object.Key]object.Header{}, ends: map[string]bool{}}
		w.views = append(w.views, v)
	}
	group, _ := run.New(t.Context())
	group.Go("", w.cache.Run)
	for _, v := range w.views {
		proto := &unstructured.Unstructured{}
		proto.SetGroupVersionKind(v.gvk())
		for {
			h, err := w.cache.Open(t.Context(), proto, client.Selection{})
			if err != nil {
				time.Sleep(time.Second) // the program starts again
				continue
			}
			if _, err := h.Subscribe("test", v.told); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	return func() {
		group.Stop(nil)
		group.Wait()
		transport.CloseIdleConnections()
	}
}

func (v *view) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: v.of.Group, Version: v.of.Version, Kind: v.of.Kind}
}

// told judges what a subscriber is told.
func (v *view) told(c store.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, had := v.held[c.Key]
	if had && (c.New == nil || c.New.Header().UID != was.UID) {
		v.ends[string(was.UID)] = true
		if v.w.state.Lives(v.of.Plural, c.Key, string(was.UID)) {
			v.w.t.Errorf("%s %s: %s lives, and was told as deleted", v.of.Plural, c.Key, was.UID)
		}
	}
	if c.New == nil {
		delete(v.held, c.Key)
		return
	}
	now := c.New.Header()
	if v.ends[string(now.UID)] {
		v.w.t.Errorf("%s %s: %s was told as deleted, and is back at %s", v.of.Plural, c.Key, now.UID, now.ResourceVersion)
	}
	if order, _ := object.CompareVersions(now.ResourceVersion, was.ResourceVersion); had && was.UID == now.UID && order < 0 {
		v.w.t.Errorf("%s %s: from version %s back to %s", v.of.Plural, c.Key, was.ResourceVersion, now.ResourceVersion)
	}
	v.held[c.Key] = *now
}

// equalsAList compares the cache, and what the subscriber was told, with the storage.
func (v *view) equalsAList() {
	v.mu.Lock()
	defer v.mu.Unlock()
	want, n := v.w.state.Content(v.of.Plural), 0
	check := func(key object.Key, uid, version, where string) {
		if i := want[key]; i.UID != uid || strconv.Itoa(i.Version) != version {
			v.w.t.Errorf("%s of %s %s: %s at %s, want %+v", where, v.of.Plural, key, uid, version, i)
		}
	}
	for o, err := range client.List[unstructured.Unstructured](v.w.t.Context(), v.w.cache, client.OfKind(v.gvk())) {
		if err != nil {
			v.w.t.Errorf("%s: %v", v.of.Plural, err)
			return
		}
		check(object.KeyOf(o), string(o.GetUID()), o.GetResourceVersion(), "cache")
		n++
	}
	for key, h := range v.held {
		check(key, string(h.UID), h.ResourceVersion, "subscriber")
	}
	if n != len(want) || len(v.held) != n {
		v.w.t.Errorf("%s: %d in the cache, %d told, want %d", v.of.Plural, n, len(v.held), len(want))
	}
}
