package cert

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The Secret of [Managed] has the type kubernetes.io/tls, so that other programs can mount it.
const (
	// label, with the value "true", marks a Secret that [Managed] may write. Managed sets it; set
	// it by hand on an empty Secret made for Managed.
	label = "cert.flyball.io/managed"
	// rotateAnnotation on the Secret, with any value, requests a new CA and a new serving
	// certificate now. Managed removes it when the rotation has begun.
	rotateAnnotation = "cert.flyball.io/rotate"

	// untilAnnotation holds, for each CA that signed, when its last certificate expires.
	untilAnnotation = "cert.flyball.io/until"

	keyServing    = corev1.TLSCertKey       // the serving certificate
	keyServingKey = corev1.TLSPrivateKeyKey // its key
	keyBundle     = "ca.crt"                // the CA bundle, newest first
	keySigner     = "ca.key"                // the key of the signing CA
	keyNext       = "next-ca.key"           // the key of the next signing CA, while it joins
)

// ForeignSecretError says that [Managed] may not write the Secret.
type ForeignSecretError struct {
	// Secret is its namespace and name.
	Secret string
	// Problem in plain words.
	Problem string
}

func (e *ForeignSecretError) Error() string {
	return fmt.Sprintf("secret %s %s, so it is not written: delete it, or set another Name", e.Secret, e.Problem)
}

// foreign returns nil for a Secret that may be written.
func foreign(s *corev1.Secret) error {
	name := s.Namespace + "/" + s.Name
	if s.Labels[label] != "true" {
		return &ForeignSecretError{name, "does not have the label " + label + "=true"}
	}
	switch s.Type {
	case corev1.SecretTypeTLS, corev1.SecretTypeOpaque, "":
		return nil
	default:
		return &ForeignSecretError{name, fmt.Sprintf("is of the type %q", s.Type)}
	}
}

// state holds the usable parts of the Secret. It is immutable: a change makes a new one.
type state struct {
	bundle  []*x509.Certificate // newest first
	signer  *authority          // nil: none can sign
	next    *authority          // nil: none joins
	serving *pair               // nil: none can be used
	issuer  *x509.Certificate   // the CA of the bundle that signed serving; nil: none
	until   map[string]time.Time
	rotate  bool
	problem error // the parts that could not be used, and why
}

// parseState parses the usable parts of the Secret, and records the problems of the others.
func parseState(s *corev1.Secret) *state {
	st := &state{until: map[string]time.Time{}}
	report := func(err error) { st.problem = errors.Join(st.problem, err) }
	if len(s.Data[keyBundle]) == 0 && len(s.Data[keyServing]) == 0 && len(s.Data[keySigner]) == 0 {
		st.problem = &FormatError{Name: "secret", Problem: "is empty"}
		return st
	}
	bundle, err := parseCertificates(keyBundle, s.Data[keyBundle])
	report(err) // nil is none
	st.bundle = bundle
	authorityOf := func(name string) *authority {
		if len(s.Data[name]) == 0 {
			return nil
		}
		key, err := parseKey(name, s.Data[name])
		if err != nil {
			report(err)
			return nil
		}
		for _, c := range bundle {
			if c.IsCA && belongs(key, c) {
				return &authority{c, key}
			}
		}
		report(&MismatchError{keyBundle, name})
		return nil
	}
	st.signer = authorityOf(keySigner)
	st.next = authorityOf(keyNext)
	st.serving, err = parsePair(keyServing, s.Data[keyServing], keyServingKey, s.Data[keyServingKey])
	if err != nil {
		report(err)
	} else if st.issuer = issuerOf(st.serving.cert.Leaf, bundle); st.issuer == nil {
		report(&FormatError{Name: keyServing, Problem: "is not signed by a CA of " + keyBundle})
	}
	if text := s.Annotations[untilAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &st.until); err != nil {
			report(&FormatError{untilAnnotation, "does not parse", err})
			st.until = nil // a CA then stays until it expires
		}
		if st.until == nil { // for "null"
			st.until = map[string]time.Time{}
		}
	}
	_, st.rotate = s.Annotations[rotateAnnotation]
	return st
}

func issuerOf(leaf *x509.Certificate, bundle []*x509.Certificate) *x509.Certificate {
	for _, ca := range bundle {
		if leaf.CheckSignatureFrom(ca) == nil {
			return ca
		}
	}
	return nil
}

// write returns a copy of the Secret with this state. It keeps all other fields.
func (st *state) write(s *corev1.Secret) (*corev1.Secret, error) {
	s = s.DeepCopy()
	metav1.SetMetaDataLabel(&s.ObjectMeta, label, "true")
	s.Type = cmp.Or(s.Type, corev1.SecretTypeTLS)
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[keyBundle] = st.trust()
	s.Data[keyServing], s.Data[keyServingKey] = st.serving.certPEM, st.serving.keyPEM
	for name, a := range map[string]*authority{keySigner: st.signer, keyNext: st.next} {
		delete(s.Data, name)
		if a == nil {
			continue
		}
		key, err := encodeKey(a.key)
		if err != nil {
			return nil, err
		}
		s.Data[name] = key
	}
	until, err := json.Marshal(st.until)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", untilAnnotation, err)
	}
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, untilAnnotation, string(until))
	if !st.rotate {
		delete(s.Annotations, rotateAnnotation)
	}
	return s, nil
}

// trust returns the bundle as it is injected.
func (st *state) trust() []byte { return encodeCertificates(st.bundle...) }

// clone returns a copy that may be changed into a new state.
func (st *state) clone() *state {
	c := *st
	c.bundle, c.until = slices.Clone(st.bundle), maps.Clone(st.until)
	return &c
}

// serves reports whether the serving certificate can be used now: it has a key and a CA of the
// bundle, and has not expired. A certificate that is not valid yet counts: it is replaced in good order.
func (st *state) serves(now time.Time) bool {
	return st.serving != nil && st.issuer != nil && !now.After(st.serving.notAfter) && !now.After(st.issuer.NotAfter)
}

// canSign reports whether an authority can sign now.
func (a *authority) canSign(now time.Time) bool { return a != nil && now.Before(a.cert.NotAfter) }
