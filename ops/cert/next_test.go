package cert

import (
	"bytes"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testPolicy: a certificate of 60 s is replaced after 20 s, a CA of 120 s after 40 s.
func testPolicy() ManagedOptions {
	return ManagedOptions{
		Name: "test", DNSNames: []string{"hook.ns.svc"}, IPs: loopback, Settle: 5 * time.Second,
		Validity: 60 * time.Second, Rotate: 20 * time.Second, CAValidity: 120 * time.Second, CARotate: 40 * time.Second,
	}
}

// story runs a core with a clock of its own and one target, which accepts every bundle.
type story struct {
	t      *testing.T
	c      core
	now    time.Time
	state  *state
	memory *state
	target targetState
}

func newStory(t *testing.T) *story {
	return &story{
		t: t, c: core{ManagedOptions: testPolicy()}, now: time.Unix(1_000_000, 0),
		target: targetState{obj: new(unstructured.Unstructured), bundles: [][]byte{nil}},
	}
}

func (s *story) view() input {
	return input{state: s.state, memory: s.memory, targets: []targetState{s.target}}
}

// step applies the next action and returns it. Every state goes through the Secret, as between
// replicas.
func (s *story) step() output {
	s.t.Helper()
	v := s.view()
	a := s.c.Step(s.now, v)
	switch a.do {
	case nothing:
	case inject:
		s.target.bundles = [][]byte{s.state.trust()}
	default:
		st, err := s.c.apply(s.now, a.do, v)
		if err != nil {
			s.t.Fatal(err)
		}
		s.state = s.through(st)
	}
	return a
}

func (s *story) through(st *state) *state {
	s.t.Helper()
	secret, err := st.write(&corev1.Secret{})
	if err != nil {
		s.t.Fatal(err)
	}
	out := parseState(secret)
	if out.problem != nil {
		s.t.Fatalf("what was written has a fault: %v", out.problem)
	}
	return out
}

// tasks applies all actions that are due now.
func (s *story) tasks() []task {
	s.t.Helper()
	var out []task
	for {
		a := s.step()
		if a.do == nothing {
			return out
		}
		if out = append(out, a.do); len(out) > 20 {
			s.t.Fatalf("it does not end: %v", out)
		}
	}
}

func (s *story) want(want ...task) {
	s.t.Helper()
	if got := s.tasks(); !slices.Equal(got, want) {
		s.t.Fatalf("at %v: did %v, want %v", s.now.Unix(), got, want)
	}
}

func (s *story) later(d time.Duration) *story {
	s.now = s.now.Add(d)
	return s
}

// TestRotationStepByStep is the life of a CA, step by step.
func TestRotationStepByStep(t *testing.T) {
	s := newStory(t)
	s.want(create, inject)
	first := s.state.signer.cert
	s.later(19 * time.Second).want()
	s.later(2 * time.Second).want(issue) // 21 s: the serving certificate, of the same CA
	if !s.state.issuer.Equal(first) {
		t.Fatal("another CA signed")
	}
	s.later(20*time.Second).want(join, inject, issue) // 41 s: the CA is due, and so is the certificate
	if len(s.state.bundle) != 2 || !s.state.issuer.Equal(first) || s.state.next == nil {
		t.Fatal("the new CA does more than join")
	}
	s.later(4 * time.Second).want()
	s.later(time.Second).want(promote) // 46 s: every API server has it
	if s.state.issuer.Equal(first) || len(s.state.bundle) != 2 || s.state.next != nil {
		t.Fatal("the new CA does not sign")
	}
	s.later(20 * time.Second).want(issue)
	// The last certificate of the old CA was made at 41 s. It expires at 101 s, and 5 s later
	// nothing needs the CA. At 81 s the next one joins.
	s.later(15*time.Second).want(join, inject)
	s.later(5 * time.Second).want(promote) // 86 s
	s.later(19 * time.Second).want()       // 105 s
	if len(s.state.bundle) != 3 {
		t.Fatalf("%d CAs", len(s.state.bundle))
	}
	s.later(2*time.Second).want(issue, drop, inject)
	if len(s.state.bundle) != 2 || slices.ContainsFunc(s.state.bundle, first.Equal) {
		t.Fatal("the first CA is there still")
	}
}

// TestWaitsAreExact: nothing is due before the wait that next returns, and something is due after
// it.
func TestWaitsAreExact(t *testing.T) {
	s := newStory(t)
	s.tasks()
	seen := map[task]int{}
	for range 200 {
		a := s.step()
		seen[a.do]++
		if a.do != nothing {
			continue
		}
		wait := a.until.Sub(s.now)
		if wait <= 0 || wait > 41*time.Second {
			t.Fatalf("waits for %v", wait)
		}
		if wait > 2*time.Second {
			s.later(wait - 2*time.Second)
			if before := s.step(); before.do != nothing {
				t.Fatalf("it said %v, and did %v two seconds before", wait, before.do)
			}
			s.later(2 * time.Second)
		} else {
			s.later(wait)
		}
	}
	for _, d := range []task{join, inject, promote, issue, drop} {
		if seen[d] < 3 {
			t.Errorf("%v happened %d times", d, seen[d])
		}
	}
}

// due returns a story in which a new CA has joined and the target has it.
func due(t *testing.T) *story {
	s := newStory(t)
	s.tasks()
	s.later(21 * time.Second).tasks()
	s.later(20*time.Second).want(join, inject, issue)
	return s
}

func TestPromoteWaits(t *testing.T) {
	t.Run("for a target that cannot be read", func(t *testing.T) {
		s := due(t)
		s.target.err = errRaced
		s.later(10 * time.Second).want()
		s.later(11 * time.Second).want(issue) // of the old CA, while that is valid
		s.target.err = nil
		s.want()
		s.later(5 * time.Second).want(promote)
	})
	t.Run("anew after a target lost the bundle", func(t *testing.T) {
		s := due(t)
		s.later(4 * time.Second).want()
		s.target.bundles = [][]byte{nil}
		s.want(inject)
		s.later(4 * time.Second).want()
		s.later(time.Second).want(promote)
	})
	t.Run("anew after a crash", func(t *testing.T) {
		s := due(t)
		s.later(4 * time.Second)
		s.c = core{ManagedOptions: testPolicy()}
		s.want()
		s.later(4 * time.Second).want()
		s.later(time.Second).want(promote)
	})
	t.Run("not for a target that is not there", func(t *testing.T) {
		s := due(t)
		s.target = targetState{}
		s.later(5 * time.Second).want(promote)
	})
	t.Run("for a target that others write and that trusts us", func(t *testing.T) {
		s := due(t)
		s.target.foreignInjector = true
		s.target.bundles = [][]byte{encodeCertificates(s.state.signer.cert)}
		s.later(6 * time.Second).want()
	})
	t.Run("not for a target that others write and that never trusted us", func(t *testing.T) {
		s := due(t)
		s.target.foreignInjector = true
		s.target.bundles = [][]byte{[]byte("another")}
		s.later(6 * time.Second).want(promote)
	})
	t.Run("no longer than the old certificate lasts", func(t *testing.T) {
		s := due(t)
		s.target.err = errRaced
		for range 10 {
			s.later(20 * time.Second).tasks()
			if !s.state.serves(s.now) {
				t.Fatalf("at %v nothing serves", s.now.Unix())
			}
		}
	})
}

func TestMissingSecretIsRestoredFromMemory(t *testing.T) {
	s := newStory(t)
	s.tasks()
	old := s.state
	s.state = nil
	s.memory = old
	s.later(time.Second).want(restore)
	if !bytes.Equal(s.state.trust(), old.trust()) || !s.state.issuer.Equal(old.issuer) {
		t.Fatal("not what it was")
	}
	s.state = nil
	s.later(time.Hour).want(create, inject) // the remembered state has expired
}

func TestForcedRotation(t *testing.T) {
	s := newStory(t)
	s.tasks()
	s.state.rotate = true
	s.want(join, inject)
	if s.state.rotate {
		t.Fatal("the wish was not taken away")
	}
	s.later(5 * time.Second).want(promote)
}

// TestDamagedSecretIsRepaired: a damaged Secret is repaired from its usable parts, with no further
// loss of trust.
func TestDamagedSecretIsRepaired(t *testing.T) {
	key := func(name string, with []byte) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			if with == nil {
				delete(s.Data, name)
				return
			}
			s.Data[name] = with
		}
	}
	other := selfMade(t, time.Unix(1_000_000, 0), time.Hour)
	for _, c := range []struct {
		name string
		harm func(*corev1.Secret)
		want []task // without memory
		same bool   // the serving certificate and its CA survive
	}{
		{"nothing", func(*corev1.Secret) {}, nil, true},
		{"key of the CA lost", key(keySigner, nil), []task{join, inject}, true},
		{"key of another CA", key(keySigner, other.key), []task{repair, join, inject}, true},
		{"key of the CA garbled", key(keySigner, []byte("x")), []task{repair, join, inject}, true},
		{"next key garbled", key(keyNext, []byte("x")), []task{repair}, true},
		{"serving certificate lost", key(keyServing, nil), []task{issue}, false},
		{"serving certificate of another", key(keyServing, other.cert), []task{issue}, false},
		{"serving pair of another CA", func(s *corev1.Secret) {
			s.Data[keyServing], s.Data[keyServingKey] = other.cert, other.key
		}, []task{issue}, false},
		{"serving key garbled", key(keyServingKey, []byte("x")), []task{issue}, false},
		{"bundle lost", key(keyBundle, nil), []task{create, inject}, false},
		{"bundle with something after it", func(s *corev1.Secret) {
			s.Data[keyBundle] = append(s.Data[keyBundle], "-----BEGIN CERTIFICATE-----\nAAA"...)
		}, []task{repair}, true},
		{"all lost", func(s *corev1.Secret) { s.Data = nil }, []task{create, inject}, false},
		{"annotation garbled", func(s *corev1.Secret) { s.Annotations[untilAnnotation] = "{" }, []task{repair}, true},
	} {
		for _, remembers := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				s := newStory(t)
				s.tasks()
				good := s.state
				secret, err := good.write(&corev1.Secret{})
				if err != nil {
					t.Fatal(err)
				}
				c.harm(secret)
				s.state = parseState(secret)
				s.later(time.Second)
				if !remembers {
					s.want(c.want...)
				} else {
					s.memory = good
					s.tasks()
					if s.c.Step(s.now, s.view()).do != nothing || !s.state.issuer.Equal(good.issuer) {
						t.Fatal("it did not come back to what it was")
					}
				}
				if s.state.problem != nil || !s.state.serves(s.now) {
					t.Fatalf("not mended: %v", s.state.problem)
				}
				if c.same && !s.state.serving.cert.Leaf.Equal(good.serving.cert.Leaf) {
					t.Fatal("another serving certificate, without need")
				}
			})
		}
	}
}

// TestTwoVersionsKeepEachOthersNames: two versions of a program with different names do not undo
// each other's changes.
func TestTwoVersionsKeepEachOthersNames(t *testing.T) {
	s := newStory(t)
	s.tasks()
	a, b := s.c, s.c
	a.DNSNames, b.DNSNames = []string{"a.ns.svc"}, []string{"b.ns.svc"}
	count := 0
	for range 10 {
		for _, c := range []core{a, b} {
			s.c = c
			count += len(s.tasks())
		}
	}
	if count != 2 {
		t.Fatalf("%d deeds", count)
	}
	leaf := s.state.serving.cert.Leaf
	for _, n := range []string{"a.ns.svc", "b.ns.svc"} {
		if err := leaf.VerifyHostname(n); err != nil {
			t.Error(err)
		}
	}
	s.c = a
	s.later(21 * time.Second).tasks()
	if slices.Contains(s.state.serving.cert.Leaf.DNSNames, "b.ns.svc") {
		t.Error("a name that nobody wants outlives a rotation")
	}
}

func TestCertificatesVerifyAndEndWithTheirCA(t *testing.T) {
	now := time.Now()
	ca, err := newAuthority("x", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ca.issue([]string{"hook.ns.svc"}, loopback, now, 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf := p.cert.Leaf
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(encodeCertificates(ca.cert))
	for _, name := range []string{"hook.ns.svc", "127.0.0.1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, CurrentTime: now.Add(-50 * time.Minute)}); err != nil {
			t.Errorf("%s, on a clock that lags: %v", name, err)
		}
	}
	if leaf.NotAfter.After(ca.cert.NotAfter) {
		t.Error("it outlives its CA")
	}
	if n := leaf.SerialNumber.BitLen(); n != 127 {
		t.Errorf("serial number of %d bits", n)
	}
	if leaf.IsCA || !ca.cert.IsCA || !ca.cert.MaxPathLenZero {
		t.Error("who is a CA?")
	}
}
