package apiserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

const (
	drawnGroup = "random.example.com"
	// inRound is how many sequences have the same definitions and users. Each round has drawnInRound and usersInRound
	// of them.
	inRound, drawnInRound, usersInRound = 2000, 12, 4
	// randomWorkers is how many sequences run side by side, each in a namespace of its own.
	randomWorkers = 8
)

// rig is a real server and one in memory. The latter goes on in another process from time to time: its state is that of
// the one before, and of the answers that are remembered it has those on disk.
type rig struct {
	t       *testing.T
	servers [2]server
	memory  *apiserver.Server
	file    *memo.File
	name    string // of the file
	clients [2]map[string]*http.Client
	fresh   atomic.Int64 // namespaces
	// used is locked while a sequence uses a kind that has no namespace. Versions of a kind share a lock.
	used map[string]*lock
}

// lock is a lock of one of several kinds, which are locked in order.
type lock struct {
	sync.Mutex
	order int
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, name: filepath.Join(t.TempDir(), "answers")}
	r.servers[0] = planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	r.clients[0] = map[string]*http.Client{}
	r.connect(0)
	t.Cleanup(r.leave)
	return r
}

// process lets the server in memory go on in another process.
func (r *rig) process() {
	r.t.Helper()
	file, err := memo.Open(r.name)
	if err != nil {
		r.t.Fatal(err)
	}
	answers := memo.New(64 << 20)
	answers.Use(file)
	next, err := apiserver.NewOver(r.t.Context(), apiserver.Options{RBAC: true}, answers)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.memory != nil {
		next.Restore(r.memory.Snapshot())
	}
	r.leave()
	r.memory, r.file, r.servers[1] = next, file, next
	r.connect(1)
}

// leave ends the server in memory and its file.
func (r *rig) leave() {
	if r.memory == nil {
		return
	}
	for _, c := range r.clients[1] {
		c.CloseIdleConnections()
	}
	if err := r.memory.Close(); err != nil {
		r.t.Error(err)
	}
	r.file.Close()
	r.memory = nil
}

// connect makes the clients of one server, that of the administrator without a name.
func (r *rig) connect(i int) {
	r.t.Helper()
	r.clients[i] = map[string]*http.Client{}
	for n := range usersInRound + 1 {
		config, user := r.servers[i].RESTConfig(), ""
		if n > 0 {
			var err error
			user = userName(n - 1)
			if config, err = r.servers[i].UserConfig(user); err != nil {
				r.t.Fatal(err)
			}
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			r.t.Fatal(err)
		}
		c := &http.Client{Transport: transport}
		if i == 0 {
			r.t.Cleanup(c.CloseIdleConnections)
		}
		r.clients[i][user] = c
	}
}

func userName(n int) string { return fmt.Sprintf("drawn-user-%d", n) }

// each has both servers told the same. It fails the test if their answers have different codes.
func (r *rig) each(ns, method, path, body string) int {
	r.t.Helper()
	var codes [2]int
	for i := range r.servers {
		s := r.session(i, ns)
		var text []byte
		codes[i], _, text = s.send(method, s.path(path), strings.ReplaceAll(body, "NS", ns))
		if i == 1 && codes[0] != codes[1] {
			r.t.Fatalf("%s %s %s: %d, want %d: %s", method, path, body, codes[1], codes[0], text)
		}
	}
	return codes[0]
}

func (r *rig) session(i int, ns string) *session {
	return &session{t: r.t, client: r.clients[i][""], on: r.servers[i], url: r.servers[i].URL(), real: i == 0, ns: ns, again: soon, names: map[string]string{}}
}

// definitionsOf returns the definitions of a round, the same ones each time.
func definitionsOf(round uint64) []drawn {
	if known, ok := ofRounds.Load(round); ok {
		return known.([]drawn)
	}
	var out []drawn
	for i := range uint64(drawnInRound) {
		out = append(out, drawDefinition(drawnGroup, round*drawnInRound+i))
	}
	ofRounds.Store(round, out)
	return out
}

// ofRounds has what [definitionsOf] has returned.
var ofRounds sync.Map

// begin makes the definitions and the users of a round on both servers, and waits until they are known.
func (r *rig) begin(round uint64, namespaces []string) {
	r.t.Helper()
	r.used = map[string]*lock{}
	var known []drawn
	for i, d := range definitionsOf(round) {
		if r.each("", "POST", definitions, d.body) == http.StatusCreated {
			known = append(known, d)
		}
		l := &lock{order: i}
		for _, k := range d.kinds {
			r.used[k.path] = l
		}
	}
	if len(known) < drawnInRound-2 {
		r.t.Fatalf("only %d definitions of round %d are valid", len(known), round)
	}
	for i := range r.servers {
		s := r.session(i, namespaces[0])
		for _, d := range known {
			s.await(definitions+"/"+d.name, "InitialNamesAccepted")
			for _, k := range d.kinds {
				path, plural := k.path[:strings.LastIndexByte(k.path, '/')], k.path[strings.LastIndexByte(k.path, '/')+1:]
				s.await(strings.TrimSuffix(path, "/namespaces/NS"), `"`+plural+`"`)
				s.await(k.path, `"items"`)
			}
		}
	}
	r.grant(dice{rand.New(rand.NewPCG(round, 3))}, namespaces)
}

// end removes the definitions of a round.
func (r *rig) end(round uint64) {
	for _, d := range definitionsOf(round) {
		r.each("", "DELETE", definitions+"/"+d.name, "")
	}
}

const (
	roleKinds = "/apis/rbac.authorization.k8s.io/v1"
	spaced    = roleKinds + "/namespaces/NS"
)

// grant draws the roles of users: some in all namespaces of the workers, and some in the cluster.
func (r *rig) grant(d dice, namespaces []string) {
	r.t.Helper()
	role := func(kind, name, rules string) string {
		return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":%q,"metadata":{"name":%q},"rules":[%s]}`, kind, name, rules)
	}
	binding := func(kind, roleKind, name string) string {
		return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":%q,"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%q}]}`, kind, name, roleKind, name, name)
	}
	for n := range usersInRound {
		user := userName(n)
		for _, path := range []string{roleKinds + "/clusterrolebindings/", roleKinds + "/clusterroles/"} {
			r.each("", "DELETE", path+user, "")
		}
		for _, ns := range namespaces {
			for _, path := range []string{spaced + "/rolebindings/", spaced + "/roles/"} {
				r.each(ns, "DELETE", path+user, "")
			}
		}
	}
	last := r.session(0, namespaces[len(namespaces)-1]) // the memory knows at once what it is told, and the real one in this order
	knows := func(user string, allowed bool) {
		last.settled(last.path(fmt.Sprintf(`{"user":%q,"resourceAttributes":{"namespace":"NS","verb":"known","resource":"grants"}}`, user)), allowed)
	}
	for n := range usersInRound {
		knows(userName(n), false)
	}
	for n := range usersInRound {
		user, rules := userName(n), strings.Join(append(d.rules(), known), ",")
		kind, path := "Role", spaced
		if n < 2 {
			kind, path = "ClusterRole", roleKinds
			r.each("", "POST", roleKinds+"/clusterroles", role(kind, user, rules))
		}
		if n == 0 {
			r.each("", "POST", roleKinds+"/clusterrolebindings", binding("ClusterRoleBinding", kind, user))
			continue
		}
		for _, ns := range namespaces {
			if path == spaced {
				r.each(ns, "POST", spaced+"/roles", role(kind, user, rules))
			}
			r.each(ns, "POST", spaced+"/rolebindings", binding("RoleBinding", kind, user))
		}
	}
	for n := range usersInRound {
		knows(userName(n), true)
	}
}

// rules draws the rules of a role.
func (d dice) rules() (out []string) {
	list := func(texts ...string) string {
		some := slices.DeleteFunc(slices.Clone(texts), func(string) bool { return d.IntN(2) == 0 })
		text, err := json.Marshal(append(some, d.pick(texts...)))
		if err != nil {
			panic(err) // strings
		}
		return string(text)
	}
	for range 1 + d.IntN(4) {
		groups := d.pick(`[""]`, `["apps","batch"]`, `["`+drawnGroup+`"]`, `["*"]`, `["*"]`)
		resources := d.pick(`["*"]`, `["*/status"]`, list("configmaps", "secrets", "services", "pods", "pods/status", "deployments", "deployments/scale", "jobs", "widgets", "widgets/status", "roles"))
		rule := fmt.Sprintf(`{"apiGroups":%s,"resources":%s,"verbs":%s`, groups, resources, d.pick(`["*"]`, list("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")))
		if d.IntN(3) == 0 {
			rule += `,"resourceNames":` + list("a", "b", "abc-123", "abc-xyz", "the-end")
		}
		out = append(out, rule+"}")
	}
	return out
}

// use locks the kinds of a sequence that have no namespace. The result unlocks them.
func (r *rig) use(kinds []randomKind) (done func()) {
	locks := map[*lock]bool{}
	for _, k := range kinds {
		if k.cluster {
			locks[r.used[k.path]] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(locks), func(a, b *lock) int { return a.order - b.order })
	for _, l := range all {
		l.Lock()
	}
	return func() {
		for _, l := range all {
			l.Unlock()
		}
	}
}

// namespace makes a namespace on both servers that has had no objects.
func (r *rig) namespace() string {
	r.t.Helper()
	name := fmt.Sprintf("random-%d", r.fresh.Add(1))
	r.each(name, "POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS"}}`)
	return name
}
