package cert

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// errStopped ends the coroutine of a replica.
var errStopped = errors.New("the replica is stopped")

const (
	modelReplicas = 3
	modelServers  = 2
	modelTargets  = 2
	// modelStall is the longest pause of a replica between two requests: a pass can take longer
	// than the settling time.
	modelStall = time.Second
	// modelPoll is the longest wait between two passes.
	modelPoll = 5 * time.Second
)

// world is a cluster with a clock of its own. The real keepers run one request at a time, in random
// order. Each API server sees a target as it was up to settle ago.
type world struct {
	t        *rapid.T
	policy   ManagedOptions
	now      time.Time
	version  int
	secret   *corev1.Secret
	targets  []target
	history  [][]written // of each target
	replicas []*replica
	views    [modelServers][modelTargets]int // index in history that an API server sees
	promoted map[string]bool                 // CAs that signed a served certificate
	signed   map[string]*x509.Certificate    // bundle and leaf → CA, as a cache
}

// written is a state of a target.
type written struct {
	at  time.Time
	obj *unstructured.Unstructured
}

// replica is one keeper, as a coroutine that stops before each of its requests.
type replica struct {
	w           *world
	serve       *pair
	next        func() (time.Duration, bool) // runs to the next request, or returns the wait until the next pass
	stop        func()
	due         time.Time // it must continue by then
	frozenUntil time.Time // it is frozen until then
	idle        bool      // between two passes
	yield       func(time.Duration) bool
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, now: time.Unix(1_000_000, 0), promoted: map[string]bool{}, signed: map[string]*x509.Certificate{},
		policy: ManagedOptions{
			Name: "model", IPs: loopback, Settle: 5 * time.Second,
			Validity: 150 * time.Second, Rotate: 20 * time.Second, CAValidity: 200 * time.Second, CARotate: 30 * time.Second,
		},
		targets: []target{{validating, "v"}, {crd, "c"}},
	}
	for _, x := range w.targets {
		w.history = append(w.history, []written{{w.now, w.blank(x)}})
	}
	for range modelReplicas {
		r := &replica{w: w}
		r.start()
		w.replicas = append(w.replicas, r)
	}
	return w
}

// blank returns a target as its user applies it.
func (w *world) blank(t target) *unstructured.Unstructured {
	config := map[string]any{"url": "https://127.0.0.1:1"}
	obj := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{map[string]any{"clientConfig": config}}}}
	if t.kind == crd {
		obj.Object = map[string]any{"spec": map[string]any{"conversion": map[string]any{
			"strategy": "Webhook", "webhook": map[string]any{"clientConfig": config},
		}}}
	}
	obj.SetGroupVersionKind(t.kind)
	obj.SetName(t.name)
	w.version++
	obj.SetResourceVersion(strconv.Itoa(w.version))
	return obj
}

// start starts a replica without memory.
func (r *replica) start() {
	k := &keeper{
		core: core{ManagedOptions: r.w.policy}, targets: r.w.targets, api: r, now: func() time.Time { return r.w.now }, log: silent,
		template: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}},
		load:     func(p *pair) { r.serve = p },
	}
	at := make([]int, len(r.w.targets)) // the events that its watches have delivered
	k.changed = func(i int) bool {
		was := at[i]
		at[i] = len(r.w.history[i])
		return at[i] != was
	}
	r.serve, r.idle, r.frozenUntil = nil, false, time.Time{}
	r.due = r.w.now.Add(modelStall)
	r.next, r.stop = iter.Pull(func(yield func(time.Duration) bool) {
		r.yield = yield
		for {
			wait, err := k.pass(context.Background())
			if errors.Is(err, errStopped) {
				return
			}
			if err != nil {
				wait = 100 * time.Millisecond
			}
			r.idle = true
			if !yield(wait) {
				return
			}
			r.idle = false
		}
	})
}

// step lets the replica do one request, or start a pass.
func (r *replica) step() {
	if r.w.now.Before(r.frozenUntil) {
		return
	}
	wait, _ := r.next()
	switch {
	case !r.idle:
		wait = modelStall
	case wait <= 0 || wait > modelPoll:
		wait = modelPoll
	}
	r.due = r.w.now.Add(wait)
}

// ask stops before a request.
func (r *replica) ask() error {
	if !r.yield(0) {
		return errStopped
	}
	return nil
}

func (r *replica) secret(context.Context) (*corev1.Secret, error) {
	if err := r.ask(); err != nil {
		return nil, err
	}
	return r.w.secret.DeepCopy(), nil
}

func (r *replica) put(_ context.Context, s *corev1.Secret) (*corev1.Secret, error) {
	if err := r.ask(); err != nil {
		return nil, err
	}
	have := ""
	if r.w.secret != nil {
		have = r.w.secret.ResourceVersion
	}
	if s.ResourceVersion != have {
		return nil, errRaced
	}
	r.w.version++
	s = s.DeepCopy()
	s.ResourceVersion = strconv.Itoa(r.w.version)
	r.w.secret = s
	return s.DeepCopy(), nil
}

func (r *replica) target(_ context.Context, t target) (*unstructured.Unstructured, error) {
	if err := r.ask(); err != nil {
		return nil, err
	}
	return r.w.latest(r.w.index(t)).DeepCopy(), nil
}

func (r *replica) inject(_ context.Context, before, after *unstructured.Unstructured) error {
	if err := r.ask(); err != nil {
		return err
	}
	i := r.w.index(target{before.GroupVersionKind(), before.GetName()})
	if now := r.w.latest(i); now == nil || now.GetResourceVersion() != before.GetResourceVersion() {
		return errRaced
	}
	r.w.version++
	after = after.DeepCopy()
	after.SetResourceVersion(strconv.Itoa(r.w.version))
	r.w.history[i] = append(r.w.history[i], written{r.w.now, after})
	return nil
}

func (w *world) index(t target) int {
	for i, x := range w.targets {
		if x == t {
			return i
		}
	}
	panic(fmt.Sprint("no target ", t))
}

func (w *world) latest(i int) *unstructured.Unstructured {
	return w.history[i][len(w.history[i])-1].obj
}

// pass advances the clock, and steps every replica that is due.
func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for {
		var first *replica
		for _, r := range w.replicas {
			if !r.due.After(end) && (first == nil || r.due.Before(first.due)) {
				first = r
			}
		}
		if first == nil {
			break
		}
		if first.due.After(w.now) {
			w.now = first.due
		}
		w.see()
		first.step()
		w.check()
	}
	w.now = end
	w.see()
	w.check()
}

// see advances every API server to the state that it must have seen by now.
func (w *world) see() {
	for s := range w.views {
		for i, h := range w.history {
			for v := w.views[s][i]; v+1 < len(h) && w.now.Sub(h[v+1].at) >= w.policy.Settle; v++ {
				w.views[s][i] = v + 1
			}
		}
	}
}

// check is the property: every client that trusts us at all trusts the certificate of every
// replica.
func (w *world) check() {
	for n, r := range w.replicas {
		if r.serve == nil {
			continue // it does not serve yet
		}
		leaf := r.serve.cert.Leaf
		w.promoted[leaf.Issuer.CommonName] = true
		for s := range w.views {
			for i := range w.targets {
				obj := w.history[i][w.views[s][i]].obj
				if obj == nil {
					continue
				}
				for _, config := range w.policy.clients(obj) {
					text, _ := config["caBundle"].(string)
					bundle, err := base64.StdEncoding.DecodeString(text)
					if err != nil {
						w.t.Fatal(err)
					}
					if len(bundle) == 0 {
						continue // no client trusted anything here: it was just applied
					}
					ca := w.signer(bundle, leaf)
					switch {
					case ca == nil:
						w.t.Fatalf("%v: replica %d serves a certificate of %q, which API server %d does not trust by %v", w.now.Unix(), n, leaf.Issuer.CommonName, s, w.targets[i])
					case w.now.After(leaf.NotAfter) || w.now.After(ca.NotAfter):
						w.t.Fatalf("%v: replica %d serves a certificate that has expired", w.now.Unix(), n)
					}
				}
			}
		}
	}
}

func (w *world) signer(bundle []byte, leaf *x509.Certificate) *x509.Certificate {
	id := string(bundle) + string(leaf.Raw)
	if ca, ok := w.signed[id]; ok {
		return ca
	}
	certs, err := parseCertificates("bundle", bundle)
	if err != nil {
		w.t.Fatal(err)
	}
	ca := issuerOf(leaf, certs)
	w.signed[id] = ca
	return ca
}

// TestClientsTrustEveryReplicaAtAllTimes runs random schedules. Three replicas act, freeze and
// crash; API servers lag. A user applies targets again, deletes them and requests rotations.
func TestClientsTrustEveryReplicaAtAllTimes(t *testing.T) {
	walk := 3 * time.Minute // of the world's clock
	if os.Getenv("FLYBALL_LONG") == "1" {
		walk *= 10
	} else if err := flag.Set("rapid.checks", "5"); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer func() {
			for _, r := range w.replicas {
				r.stop()
			}
		}()
		end := w.now.Add(walk)
		millis := rapid.IntRange(1, 4000)
		replica := rapid.IntRange(0, modelReplicas-1)
		targetOf := rapid.IntRange(0, modelTargets-1)
		for w.now.Before(end) {
			switch kind := rapid.IntRange(0, 99).Draw(t, "what"); {
			case kind < 45:
				w.replicas[replica.Draw(t, "replica")].step()
			case kind < 80:
				w.pass(time.Duration(millis.Draw(t, "ms")) * time.Millisecond)
			case kind < 92: // an API server sees an event
				s, i := rapid.IntRange(0, modelServers-1).Draw(t, "server"), targetOf.Draw(t, "target")
				if w.views[s][i]+1 < len(w.history[i]) {
					w.views[s][i]++
				}
			case kind < 93: // frozen, for longer than the settling time
				r := w.replicas[replica.Draw(t, "replica")]
				r.frozenUntil = w.now.Add(12 * time.Second)
				r.due = r.frozenUntil
			case kind < 95: // a crash: the replica restarts without memory
				r := w.replicas[replica.Draw(t, "replica")]
				r.stop()
				r.start()
			case kind < 97: // applied again
				i := targetOf.Draw(t, "target")
				w.history[i] = append(w.history[i], written{w.now, w.blank(w.targets[i])})
			case kind < 98: // deleted
				i := targetOf.Draw(t, "target")
				w.history[i] = append(w.history[i], written{w.now, nil})
			case kind < 99 && w.secret != nil:
				metav1.SetMetaDataAnnotation(&w.secret.ObjectMeta, rotateAnnotation, "now")
				w.version++
				w.secret.ResourceVersion = strconv.Itoa(w.version)
			}
			w.check()
		}
		// Without faults, every target comes to trust the served certificates.
		for i := range w.targets {
			w.history[i] = append(w.history[i], written{w.now, w.blank(w.targets[i])})
		}
		for range 300 {
			for _, r := range w.replicas {
				r.step()
			}
			w.pass(50 * time.Millisecond)
		}
		st := parseState(w.secret)
		for i := range w.targets {
			if s := w.policy.inspect(w.latest(i), nil); len(s.bundles) != 1 || !bytes.Contains(s.bundles[0], encodeCertificates(st.issuer)) {
				t.Fatalf("%v does not trust what is served", w.targets[i])
			}
		}
		if len(w.promoted) < 3 {
			t.Fatalf("only %d CAs signed", len(w.promoted))
		}
	})
}
