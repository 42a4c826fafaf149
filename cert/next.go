package cert

import (
	"bytes"
	"crypto/x509"
	"net"
	"slices"
	"time"
)

// policy holds the times and names of [ManagedOptions], with defaults.
type policy struct {
	name                 string
	validity, rotate     time.Duration
	caValidity, caRotate time.Duration
	settle               time.Duration
	names                []string
	ips                  []net.IP
}

// task is the kind of an action.
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

// action is a decision of next.
type action struct {
	do     task
	target int           // index, for inject
	wait   time.Duration // for nothing: until the next call; zero means not before a change
}

// view is what a keeper has read, the targets before the Secret.
type view struct {
	now     time.Time
	state   *state // nil: there is no Secret
	memory  *state // the last state that could serve; nil: none
	targets []targetState
}

// targetState is what a keeper has read of one target.
type targetState struct {
	found bool
	// ours is the number of clientConfigs that call a name of our certificate.
	ours int
	// bundles are the caBundles of those.
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
	return s.err == nil && s.found && !s.foreignInjector && !s.has(trust)
}

// core decides what to do next. It has no goroutine, lock or clock. One goroutine may use it.
type core struct {
	policy
	// trusted is the bundle that all targets had at the last call. They have had it since the time
	// since.
	trusted []byte
	since   time.Time
}

// next returns the action for now. The action nothing means that everything is done that is due.
func (c *core) next(v view) action {
	st := v.state
	if st == nil {
		if c.remembers(v) {
			return action{do: restore}
		}
		return action{do: create}
	}
	if !st.serves(v.now) { // trust is broken already: take the shortest way out
		switch {
		case st.signer.canSign(v.now):
			return action{do: issue}
		case st.next.canSign(v.now):
			return action{do: promote}
		case c.remembers(v):
			return action{do: restore}
		}
		return action{do: create}
	}
	if st.problem != nil {
		if c.remembers(v) {
			return action{do: restore}
		}
		return action{do: repair}
	}
	trust := st.trust()
	settled := c.settled(v, trust) // must precede inject: it notices a target that has lost the bundle
	for i, t := range v.targets {
		if t.lacks(trust) {
			return action{do: inject, target: i}
		}
	}
	var wait soonest
	switch {
	case st.next.canSign(v.now) && settled == 0:
		return action{do: promote}
	case st.next.canSign(v.now):
		wait.add(settled)
	case st.rotate || !st.signer.canSign(v.now):
		return action{do: join}
	default:
		due := dueAt(st.signer.cert, c.caRotate).Sub(v.now)
		if due <= 0 {
			return action{do: join}
		}
		wait.add(due)
	}
	if st.signer.canSign(v.now) {
		switch d := c.renewal(v.now, st); {
		case d > 0:
			wait.add(d)
		case st.issuer.Equal(st.signer.cert) || settled == 0:
			return action{do: issue}
		default:
			wait.add(settled)
		}
	}
	for _, ca := range st.bundle {
		if d := st.neededUntil(ca).Add(c.settle).Sub(v.now); st.unused(ca) && d < 0 {
			return action{do: drop}
		} else if st.unused(ca) {
			wait.add(d + time.Second)
		}
	}
	return action{wait: time.Duration(wait)}
}

// remembers reports whether the remembered state can still serve and sign.
func (c *core) remembers(v view) bool {
	return v.memory != nil && v.memory.serves(v.now) && v.memory.signer.canSign(v.now)
}

// settled returns the wait until every API server surely uses the bundle. Zero means now. Negative
// means that a target does not have it.
func (c *core) settled(v view, trust []byte) time.Duration {
	for _, t := range v.targets {
		switch {
		case t.err != nil:
			c.trusted = nil
			return -1
		case !t.found, t.has(trust):
		case t.foreignInjector && !t.trustedThrough(v.state.bundle):
		default:
			c.trusted = nil
			return -1
		}
	}
	if !bytes.Equal(c.trusted, trust) {
		c.trusted, c.since = trust, v.now
	}
	return max(0, c.settle-v.now.Sub(c.since))
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
	if !covers(leaf, c.names, c.ips) || !st.issuer.Equal(st.signer.cert) && st.next == nil {
		return 0
	}
	end := earlier(now.Add(c.validity), st.signer.cert.NotAfter)
	if due := dueAt(leaf, c.rotate).Sub(now); due > 0 || end.Sub(leaf.NotAfter) > time.Second {
		return due
	}
	return st.signer.cert.NotAfter.Sub(now) // a new one would not last longer
}

// covers reports whether the certificate is for all these names.
func covers(leaf *x509.Certificate, names []string, ips []net.IP) bool {
	for _, n := range names {
		if !slices.Contains(leaf.DNSNames, n) {
			return false
		}
	}
	for _, ip := range ips {
		if !slices.ContainsFunc(leaf.IPAddresses, ip.Equal) {
			return false
		}
	}
	return true
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

// soonest is the minimum of several positive waits.
type soonest time.Duration

func (s *soonest) add(d time.Duration) {
	if d > 0 && (*s == 0 || d < time.Duration(*s)) {
		*s = soonest(d)
	}
}

// apply returns the state after an action other than nothing and inject. It draws keys and serial
// numbers. Otherwise it is a pure function.
func (c *core) apply(do task, v view) (*state, error) {
	if do == restore {
		return v.memory, nil
	}
	st := &state{until: map[string]time.Time{}}
	if v.state != nil {
		st = v.state.clone()
	}
	st.problem = nil
	switch do {
	case repair:
		return st, nil
	case create, join:
		ca, err := newAuthority(c.name, v.now, c.caValidity)
		if err != nil {
			return nil, err
		}
		st.bundle = append([]*x509.Certificate{ca.cert}, c.liveBundle(st, v.now)...)
		st.rotate = false
		if do == join {
			st.next = ca
			return st, nil
		}
		st.signer, st.next = ca, nil
	case promote:
		st.signer, st.next = st.next, nil
	case drop:
		st.bundle = c.liveBundle(st, v.now)
		return st, nil
	}
	names, ips := c.names, c.ips
	if st.serving != nil && do == issue && !covers(st.serving.cert.Leaf, names, ips) {
		// Replicas of two versions may want different names. Until the next rotation the
		// certificate has the names of both, so that neither replica removes those of the other.
		names, ips = union(names, st.serving.cert.Leaf.DNSNames), unionIP(ips, st.serving.cert.Leaf.IPAddresses)
	}
	p, err := st.signer.issue(names, ips, v.now, c.validity)
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
		if st.unused(ca) && now.After(st.neededUntil(ca).Add(c.settle)) {
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
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func unionIP(a, b []net.IP) []net.IP {
	out := slices.Clone(a)
	for _, ip := range b {
		if !slices.ContainsFunc(out, ip.Equal) {
			out = append(out, ip)
		}
	}
	return out
}
