package cert

import (
	"bytes"
	"crypto/x509"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// task is the kind of an output.
type task int

const (
	nothing task = iota
	create       // new CA and new serving certificate: nothing existing can be trusted
	restore      // write the state that this replica remembers
	repair       // write the usable parts of the Secret, without the rest
	join         // add a new CA to the bundle
	inject       // write the bundle into a target
	issue        // make a new serving certificate with the signing CA
	promote      // let the CA that joined sign from now on
	drop         // remove a CA without valid certificates from the bundle
)

// input is what a keeper has read, the targets before the Secret.
type input struct {
	state   *state // nil: there is no Secret
	memory  *state // the last state that could serve; nil: none
	targets []targetState
}

// output is what to do next.
type output struct {
	do task
	// until is the time of the next Step if there is nothing to do. Zero means not before a change.
	until time.Time
}

// targetState is what a keeper has read of one target.
type targetState struct {
	obj *unstructured.Unstructured // nil: it does not exist
	// bundles are the caBundles of the clientConfigs that call a name of our certificate.
	bundles [][]byte
	// foreignInjector reports that cert-manager injects into the target.
	foreignInjector bool
	err             error
}

// has reports whether all our clientConfigs in the target have this bundle.
func (s targetState) has(bundle []byte) bool {
	return !slices.ContainsFunc(s.bundles, func(b []byte) bool { return !bytes.Equal(b, bundle) })
}

// lacks reports whether the bundle must be written into the target.
func (s targetState) lacks(trust []byte) bool {
	return s.err == nil && s.obj != nil && !s.foreignInjector && !s.has(trust)
}

// core decides what to do next. It has no goroutine, lock or clock. One goroutine may use it. The clock of another
// machine may differ by [backdate] without any effect on trust; the own one may jump.
type core struct {
	ManagedOptions // with defaults
	// trusted is the bundle that all targets had at the last Step. They have had it since the time
	// since.
	trusted []byte
	since   time.Time
}

// Step takes the latest input and returns the next action. The output nothing means that everything is done that is
// due.
func (c *core) Step(now time.Time, in input) output {
	st := in.state
	switch {
	case st == nil || !st.serves(now): // trust is broken, or there is none: take the shortest way out
		return output{do: c.rescue(now, in)}
	case st.problem != nil && c.remembers(now, in):
		return output{do: restore}
	case st.problem != nil:
		return output{do: repair}
	}
	trust := st.trust()
	settled := c.settled(now, in, trust) // must precede inject: it notices a target that has lost the bundle
	if slices.ContainsFunc(in.targets, func(t targetState) bool { return t.lacks(trust) }) {
		return output{do: inject}
	}
	var wait soonest
	switch {
	case st.next.canSign(now) && settled == 0:
		return output{do: promote}
	case st.next.canSign(now):
		wait.add(settled)
	case st.rotate || !st.signer.canSign(now) || early(st.signer.cert, now):
		return output{do: join}
	default:
		due := dueAt(st.signer.cert, c.CARotate).Sub(now)
		if due <= 0 {
			return output{do: join}
		}
		wait.add(due)
	}
	if st.signer.canSign(now) {
		switch d := c.renewal(now, st); {
		case d > 0:
			wait.add(d)
		case st.issuer.Equal(st.signer.cert) || settled == 0:
			return output{do: issue}
		default:
			wait.add(settled)
		}
	}
	for _, ca := range st.bundle {
		switch d := c.needed(now, st, ca); {
		case d < 0:
			return output{do: drop}
		case st.unused(ca):
			wait.add(d + time.Second)
		}
	}
	if wait == 0 {
		return output{}
	}
	return output{until: now.Add(time.Duration(wait))}
}

// rescue returns the shortest way to a certificate that serves.
func (c *core) rescue(now time.Time, in input) task {
	switch {
	case in.state != nil && in.state.signer.canSign(now):
		return issue
	case in.state != nil && in.state.next.canSign(now):
		return promote
	case c.remembers(now, in):
		return restore
	}
	return create
}

// remembers reports whether the remembered state can still serve and sign.
func (c *core) remembers(now time.Time, in input) bool {
	return in.memory != nil && in.memory.serves(now) && in.memory.signer.canSign(now)
}

// settled returns the wait after which every API server uses the bundle. Zero means now. Negative means that a target
// does not have it.
func (c *core) settled(now time.Time, in input, trust []byte) time.Duration {
	for _, t := range in.targets {
		switch {
		case t.err != nil:
			c.trusted = nil
			return -1
		case t.obj == nil, t.has(trust):
		case t.foreignInjector && !t.trustedThrough(in.state.bundle):
		default:
			c.trusted = nil
			return -1
		}
	}
	if !bytes.Equal(c.trusted, trust) || now.Before(c.since) {
		c.trusted, c.since = trust, now
	}
	return max(0, c.Settle-now.Sub(c.since))
}

// trustedThrough reports whether a bundle of the target contains one of the CAs. If so, a client
// trusts us through it.
func (s targetState) trustedThrough(bundle []*x509.Certificate) bool {
	return slices.ContainsFunc(s.bundles, func(b []byte) bool {
		return slices.ContainsFunc(bundle, func(c *x509.Certificate) bool {
			return bytes.Contains(b, bytes.TrimSpace(encodeCertificates(c)))
		})
	})
}

// dueAt returns when to replace a certificate: at the age of rotate, or after two thirds of its
// life if that is earlier. So a certificate made under other options is replaced in time.
func dueAt(cert *x509.Certificate, rotate time.Duration) time.Time {
	life := cert.NotAfter.Sub(createdAt(cert))
	return createdAt(cert).Add(min(rotate, life*2/3))
}

// renewal returns the wait until the serving certificate must be replaced.
func (c *core) renewal(now time.Time, st *state) time.Duration {
	leaf := st.serving.cert.Leaf
	if early(leaf, now) || !covers(leaf, c.DNSNames, c.IPs) || !st.issuer.Equal(st.signer.cert) && st.next == nil {
		return 0
	}
	end := earlier(now.Add(c.Validity), st.signer.cert.NotAfter)
	if due := dueAt(leaf, c.Rotate).Sub(now); due > 0 || end.Sub(leaf.NotAfter) > time.Second {
		return due
	}
	return st.signer.cert.NotAfter.Sub(now) // a new one would not last longer
}

// early reports whether a certificate is not valid yet: the clock that made it was ahead by more than backdate. Nobody
// whose clock is right accepts it.
func early(c *x509.Certificate, now time.Time) bool { return now.Before(c.NotBefore) }

// covers reports whether the certificate is for all these names.
func covers(leaf *x509.Certificate, names []string, ips []net.IP) bool {
	return len(union(leaf.DNSNames, names)) == len(leaf.DNSNames) && len(unionIP(leaf.IPAddresses, ips)) == len(leaf.IPAddresses)
}

// unused reports whether a CA of the bundle has no role: it is not the signer, the next signer, nor
// the issuer.
func (st *state) unused(ca *x509.Certificate) bool {
	return (st.signer == nil || !ca.Equal(st.signer.cert)) && (st.next == nil || !ca.Equal(st.next.cert)) &&
		(st.issuer == nil || !ca.Equal(st.issuer))
}

// neededUntil returns when the last certificate of a CA expires. Without a record, it is when the CA
// itself expires.
func (st *state) neededUntil(ca *x509.Certificate) time.Time {
	if t, ok := st.until[fingerprint(ca)]; ok {
		return earlier(t, ca.NotAfter)
	}
	return ca.NotAfter
}

// needed returns how much longer a CA without a role stays in the bundle. It is negative for one that can go now: its
// last certificate has expired, or it is not valid yet. It is zero for a CA with a role.
func (c *core) needed(now time.Time, st *state, ca *x509.Certificate) time.Duration {
	switch {
	case !st.unused(ca):
		return 0
	case early(ca, now):
		return -1
	}
	return st.neededUntil(ca).Add(c.Settle).Sub(now)
}

// soonest is the minimum of several positive waits.
type soonest time.Duration

func (s *soonest) add(d time.Duration) {
	if d > 0 && (*s == 0 || d < time.Duration(*s)) {
		*s = soonest(d)
	}
}

// apply returns the state after a task other than nothing and inject. It draws keys and serial
// numbers. Otherwise it is a pure function.
func (c *core) apply(now time.Time, do task, in input) (*state, error) {
	if do == restore {
		return in.memory, nil
	}
	st := &state{until: map[string]time.Time{}}
	if in.state != nil {
		st = in.state.clone()
	}
	st.problem = nil
	switch do {
	case repair:
		return st, nil
	case create, join:
		ca, err := newAuthority(c.Name, now, c.CAValidity)
		if err != nil {
			return nil, err
		}
		st.bundle = append([]*x509.Certificate{ca.cert}, c.liveBundle(st, now)...)
		st.rotate = false
		if do == join {
			st.next = ca
			return st, nil
		}
		st.signer, st.next = ca, nil
	case promote:
		st.signer, st.next = st.next, nil
	case drop:
		st.bundle = c.liveBundle(st, now)
		return st, nil
	}
	names, ips := c.DNSNames, c.IPs
	if st.serving != nil && do == issue && !covers(st.serving.cert.Leaf, names, ips) {
		// Replicas of two versions may want different names. Until the next rotation the
		// certificate has the names of both, so that neither replica removes those of the other.
		names, ips = union(names, st.serving.cert.Leaf.DNSNames), unionIP(ips, st.serving.cert.Leaf.IPAddresses)
	}
	p, err := st.signer.issue(names, ips, now, c.Validity)
	if err != nil {
		return nil, err
	}
	st.serving, st.issuer = p, st.signer.cert
	if id := fingerprint(st.issuer); st.until[id].Before(p.notAfter) {
		st.until[id] = p.notAfter
	}
	return st, nil
}

// liveBundle returns the bundle without the CAs that are no longer needed. It removes their entries
// from until as well.
func (c *core) liveBundle(st *state, now time.Time) []*x509.Certificate {
	var out []*x509.Certificate
	until := map[string]time.Time{}
	for _, ca := range st.bundle {
		if c.needed(now, st, ca) < 0 {
			continue
		}
		out = append(out, ca)
		if t, ok := st.until[fingerprint(ca)]; ok {
			until[fingerprint(ca)] = t
		}
	}
	st.until = until
	return out
}

func union(a, b []string) []string {
	return unionFunc(a, b, func(x, y string) bool { return x == y })
}

func unionIP(a, b []net.IP) []net.IP { return unionFunc(a, b, net.IP.Equal) }

// unionFunc returns a, and what of b is equal to none of it.
func unionFunc[T any](a, b []T, equal func(T, T) bool) []T {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.ContainsFunc(out, func(y T) bool { return equal(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}
