package cert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// errRaced says that the object changed between the read and the write: read it again.
var errRaced = errors.New("the object changed between the read and the write")

// errUnsettled says that a pass did not finish within maxRounds.
var errUnsettled = errors.New("the secret or a target changes all the time: look for another program that writes it")

// maxRounds bounds the rounds of a pass: each reads everything and does one thing.
const maxRounds = 30

// api is the keeper's access to the server. Every read returns the latest state, never that of a
// cache.
type api interface {
	// secret returns nil if there is no Secret.
	secret(ctx context.Context) (*corev1.Secret, error)
	// put creates a Secret without a resourceVersion, and updates one with it. It returns errRaced
	// if the Secret has changed.
	put(ctx context.Context, s *corev1.Secret) (*corev1.Secret, error)
	// target returns nil if the target does not exist.
	target(ctx context.Context, t target) (*unstructured.Unstructured, error)
	// inject updates before to after. It returns errRaced if the target has changed.
	inject(ctx context.Context, before, after *unstructured.Unstructured) error
}

// keeper carries out the decisions of core. Each replica has one. One goroutine may use it.
type keeper struct {
	core
	template *corev1.Secret // of a new Secret
	targets  []target
	// changed reports whether target i may have changed since the last call. nil means always.
	changed func(i int) bool
	api     api
	now     func() time.Time
	load    func(*pair) // puts a pair into service
	log     *slog.Logger

	last   *corev1.Secret // the Secret that parsed was read from
	parsed *state
	memory *state // the last state without a problem
	loaded string // fingerprint of the last loaded pair

	seen        []*targetState // last read of each target; nil means none
	refreshNext int            // index of the target that the next pass reads without a change

	problems []error // of the Secret and the targets, at the end of the last pass
	stats    Stats
}

// pass reads everything, and does what is due. It returns the wait until the next action is due;
// zero means not before something changes. The error is what prevented an action. A failed target
// does not keep pass from the other targets.
func (k *keeper) pass(ctx context.Context) (time.Duration, error) {
	k.stats.Reads++
	failed := map[target]error{}
	k.dropOne()
	allRead := false // every target was read in this pass
	for range maxRounds {
		// A replica loads a new pair before all else.
		if _, _, err := k.read(ctx); err != nil {
			return 0, k.fail(err)
		}
		targets := make([]targetState, len(k.targets))
		for i, t := range k.targets {
			targets[i] = k.look(ctx, i)
			targets[i].err = cmp.Or(targets[i].err, failed[t])
		}
		// Read the Secret again, after the targets: see the package comment.
		secret, st, err := k.read(ctx)
		if err != nil {
			return 0, k.fail(err)
		}
		now, in := k.now(), input{state: st, memory: k.memory, targets: targets}
		out := k.Step(now, in)
		switch out.do {
		case nothing:
			return max(0, out.until.Sub(now)), k.conclude(in)
		case inject: // into all that lack it; then all are read again
			for i, s := range targets {
				if s.lacks(st.trust()) {
					k.inject(ctx, i, s.obj, st, failed)
				}
			}
		default:
			if final := out.do == promote || out.do == issue || out.do == drop; final && !allRead && k.changed != nil {
				// These steps depend on what the targets trust now: read all of them.
				allRead = true
				clear(k.seen)
				continue
			}
			err = k.write(ctx, now, secret, out.do, in)
		}
		if err != nil && !errors.Is(err, errRaced) {
			return 0, k.fail(err)
		}
	}
	return 0, k.fail(errUnsettled)
}

// dropOne drops one remembered target in each pass, in turn, because a watch may have lost events.
func (k *keeper) dropOne() {
	if len(k.seen) != len(k.targets) {
		k.seen = make([]*targetState, len(k.targets))
	}
	if len(k.seen) > 0 {
		k.refreshNext = (k.refreshNext + 1) % len(k.seen)
		k.seen[k.refreshNext] = nil
	}
}

// look returns target i, from memory if it has not changed since it was read.
func (k *keeper) look(ctx context.Context, i int) targetState {
	if changed := k.changed == nil || k.changed(i); !changed && k.seen[i] != nil {
		return *k.seen[i]
	}
	k.seen[i] = nil
	s := k.inspect(k.api.target(ctx, k.targets[i]))
	if s.err == nil {
		k.seen[i] = &s
	}
	return s
}

// inject writes the bundle into target i. It records a failure in failed; the next pass tries
// again.
func (k *keeper) inject(ctx context.Context, i int, obj *unstructured.Unstructured, st *state, failed map[target]error) {
	t := k.targets[i]
	k.seen[i] = nil
	switch err := k.api.inject(ctx, obj, k.withBundle(obj, st.trust())); {
	case err == nil:
		k.stats.Injected++
		k.log.Info("CA bundle written", "target", t.String(), "authorities", len(st.bundle))
	case !errors.Is(err, errRaced):
		failed[t] = err
	}
}

// read reads the Secret and loads its pair. Both results are nil if there is no Secret.
func (k *keeper) read(ctx context.Context) (*corev1.Secret, *state, error) {
	s, err := k.api.secret(ctx)
	if err != nil || s == nil {
		return nil, nil, err
	}
	if err := foreign(s); err != nil {
		return nil, nil, err
	}
	return s, k.take(s), nil
}

// take loads the pair of a Secret if it can serve, and remembers a state without a problem.
func (k *keeper) take(s *corev1.Secret) *state {
	if k.last == nil || k.last.ResourceVersion != s.ResourceVersion || !maps.EqualFunc(k.last.Data, s.Data, bytes.Equal) {
		k.last, k.parsed = s, parseState(s)
	}
	st, now := k.parsed, k.now()
	if !st.serves(now) {
		return st
	}
	if id := fingerprint(st.serving.cert.Leaf); id != k.loaded {
		k.loaded = id
		k.load(st.serving)
	}
	if st.problem == nil && st.signer.canSign(now) {
		k.memory = st
	}
	return st
}

// write applies do to the Secret.
func (k *keeper) write(ctx context.Context, now time.Time, secret *corev1.Secret, do task, in input) error {
	st, err := k.apply(now, do, in)
	if err != nil {
		return err
	}
	secret = cmp.Or(secret, k.template)
	s, err := st.write(secret)
	if err != nil {
		return err
	}
	s, err = k.api.put(ctx, s)
	if err != nil {
		return err
	}
	if do == create || do == join {
		k.stats.Founded++
	}
	if do == create || do == issue || do == promote {
		k.stats.Issued++
	}
	if in.state != nil && in.state.problem != nil {
		k.log.Error("the secret was damaged and is repaired", "problem", in.state.problem, "by", do.String())
	}
	k.log.Info("certificates written", "action", do.String(), "authorities", len(st.bundle), "serial", st.serving.cert.Leaf.SerialNumber.Text(16), "expires", st.serving.notAfter)
	k.take(s)
	return nil
}

// conclude ends a pass that has nothing left to do. It returns the failures of targets.
func (k *keeper) conclude(in input) error {
	k.problems = nil
	k.stats.Authorities = len(in.state.bundle)
	if in.state.signer != nil {
		k.stats.AuthorityNotAfter = in.state.signer.cert.NotAfter
	}
	var failed []error
	trust := in.state.trust()
	for i, s := range in.targets {
		if err := s.problem(k.targets[i], trust); err != nil {
			k.problems = append(k.problems, err)
		}
		if s.err != nil {
			failed = append(failed, s.err)
		}
	}
	return errors.Join(failed...)
}

func (k *keeper) fail(err error) error {
	k.problems = []error{err}
	return err
}

func (d task) String() string {
	return [...]string{"nothing", "create", "restore", "repair", "join", "inject", "issue", "promote", "drop"}[d]
}
