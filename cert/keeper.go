package cert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	report report

	seen        []*seen // last read of each target; nil means none
	refreshNext int     // index of the target that the next pass reads without a change
}

// seen is a target as it was read. Its obj is nil if the target does not exist.
type seen struct{ obj *unstructured.Unstructured }

// report is the result of a pass. The counters only grow.
type report struct {
	problems         []error // of the Secret and the targets
	authorities      int
	signerEnds       time.Time
	issued, founded  uint64
	injected, passes uint64
}

// pass reads everything, and does what is due. It returns the wait until the next action is due;
// zero means not before something changes. The error is what prevented an action. A failed target
// does not keep pass from the other targets.
func (k *keeper) pass(ctx context.Context) (time.Duration, error) {
	k.report.passes++
	failed := map[target]error{}
	k.dropOne()
	allRead := false // every target was read in this pass
	for range maxRounds {
		// A replica loads a new pair before all else.
		if _, _, err := k.read(ctx); err != nil {
			return 0, k.fail(err)
		}
		objects := make([]*unstructured.Unstructured, len(k.targets))
		targetStates := make([]targetState, len(k.targets))
		for i, t := range k.targets {
			obj, err := k.target(ctx, i)
			if err == nil {
				err = failed[t]
			}
			objects[i], targetStates[i] = obj, k.inspect(obj, err)
		}
		// Read the Secret again, after the targets: see the package comment.
		secret, st, err := k.read(ctx)
		if err != nil {
			return 0, k.fail(err)
		}
		v := view{now: k.now(), state: st, memory: k.memory, targets: targetStates}
		a := k.next(v)
		switch a.do {
		case nothing:
			return a.wait, k.conclude(v)
		case inject: // into all that lack it; then all are read again
			for i, s := range targetStates {
				if s.lacks(v.state.trust()) {
					k.inject(ctx, i, objects[i], v.state, failed)
				}
			}
		default:
			if final := a.do == promote || a.do == issue || a.do == drop; final && !allRead && k.changed != nil {
				// These steps depend on what the targets trust now: read all of them.
				allRead = true
				clear(k.seen)
				continue
			}
			err = k.write(ctx, secret, a.do, v)
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
		k.seen = make([]*seen, len(k.targets))
	}
	if len(k.seen) > 0 {
		k.refreshNext = (k.refreshNext + 1) % len(k.seen)
		k.seen[k.refreshNext] = nil
	}
}

// target returns target i, from memory if it has not changed since it was read. nil means that it
// does not exist.
func (k *keeper) target(ctx context.Context, i int) (*unstructured.Unstructured, error) {
	if changed := k.changed == nil || k.changed(i); !changed && k.seen[i] != nil {
		return k.seen[i].obj, nil
	}
	k.seen[i] = nil
	obj, err := k.api.target(ctx, k.targets[i])
	if err == nil {
		k.seen[i] = &seen{obj}
	}
	return obj, err
}

// inject writes the bundle into target i. It records a failure in failed; the next pass tries
// again.
func (k *keeper) inject(ctx context.Context, i int, obj *unstructured.Unstructured, st *state, failed map[target]error) {
	t := k.targets[i]
	k.seen[i] = nil
	switch err := k.api.inject(ctx, obj, k.withBundle(obj, st.trust())); {
	case err == nil:
		k.report.injected++
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
func (k *keeper) write(ctx context.Context, secret *corev1.Secret, do task, v view) error {
	st, err := k.apply(do, v)
	if err != nil {
		return err
	}
	if secret == nil {
		secret = k.template
	}
	s, err := st.write(secret)
	if err != nil {
		return err
	}
	s, err = k.api.put(ctx, s)
	if err != nil {
		return err
	}
	if do == create || do == join {
		k.report.founded++
	}
	if do == create || do == issue || do == promote {
		k.report.issued++
	}
	if v.state != nil && v.state.problem != nil {
		k.log.Error("the secret was damaged and is repaired", "problem", v.state.problem, "by", do.String())
	}
	k.log.Info("certificates written", "action", do.String(), "authorities", len(st.bundle), "serial", st.serving.cert.Leaf.SerialNumber.Text(16), "expires", st.serving.notAfter)
	k.take(s)
	return nil
}

// conclude ends a pass that has nothing left to do. It returns the failures of targets.
func (k *keeper) conclude(v view) error {
	k.report.problems = nil
	k.report.authorities = len(v.state.bundle)
	if v.state.signer != nil {
		k.report.signerEnds = v.state.signer.cert.NotAfter
	}
	var failed []error
	trust := v.state.trust()
	for i, s := range v.targets {
		if err := s.problem(k.targets[i], trust); err != nil {
			k.report.problems = append(k.report.problems, err)
		}
		if s.err != nil {
			failed = append(failed, s.err)
		}
	}
	return errors.Join(failed...)
}

func (k *keeper) fail(err error) error {
	k.report.problems = []error{err}
	return err
}

func (d task) String() string {
	names := [...]string{"nothing", "create", "restore", "repair", "join", "inject", "issue", "promote", "drop"}
	if int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("deed(%d)", int(d))
}
