package cert

import (
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

// What stands in the Secret of [Managed]. It is of type kubernetes.io/tls, so that others can
// mount it too.
const (
	// Label, with the value "true", marks a Secret that [Managed] may write: made by it, or made
	// empty for it by hand.
	Label = "cert.flyball.io/managed"
	// RotateAnnotation on the Secret, with any value, asks for a new CA and a new serving
	// certificate now; it goes when that has begun.
	RotateAnnotation = "cert.flyball.io/rotate"

	// untilAnnotation says, for each CA that signed, when the last certificate of it expires.
	untilAnnotation = "cert.flyball.io/until"

	keyServing    = corev1.TLSCertKey       // the serving certificate
	keyServingKey = corev1.TLSPrivateKeyKey // its key
	keyBundle     = "ca.crt"                // whom to trust, the newest first
	keySigner     = "ca.key"                // the key of the CA that signs
	keyNext       = "next-ca.key"           // the key of the CA that will, while it joins
)

// ForeignSecretError says that the Secret is not one that [Managed] may write.
type ForeignSecretError struct {
	// Secret is its namespace and name.
	Secret string
	// Problem in plain words.
	Problem string
}

func (e *ForeignSecretError) Error() string {
	return fmt.Sprintf("secret %s %s: it is left alone; delete it, or give another name", e.Secret, e.Problem)
}

// foreign is nil for a Secret that may be written.
func foreign(s *corev1.Secret) error {
	name := s.Namespace + "/" + s.Name
	if s.Labels[Label] != "true" {
		return &ForeignSecretError{name, "does not have the label " + Label + "=true"}
	}
	switch s.Type {
	case corev1.SecretTypeTLS, corev1.SecretTypeOpaque, "":
		return nil
	default:
		return &ForeignSecretError{name, fmt.Sprintf("is of the type %q", s.Type)}
	}
}

// state is what the Secret says, as far as it can be used. It is never changed once made; what
// changes it makes a new one.
type state struct {
	bundle  []*x509.Certificate // the newest first
	signer  *authority          // nil: none that can sign
	next    *authority          // nil: none joins
	serving *pair               // nil: none that can be used
	issuer  *x509.Certificate   // of the bundle, of serving; nil: none
	until   map[string]time.Time
	rotate  bool
	problem error // what could not be used, and why
}

// parseState reads what can be used, and says what cannot.
func parseState(s *corev1.Secret) *state {
	st := &state{until: map[string]time.Time{}}
	var problems []error
	if len(s.Data[keyBundle]) == 0 && len(s.Data[keyServing]) == 0 && len(s.Data[keySigner]) == 0 {
		st.problem = &FormatError{Name: "secret", Problem: "is empty"}
		return st
	}
	bundle, err := parseCertificates(keyBundle, s.Data[keyBundle])
	if err != nil {
		problems = append(problems, err)
	}
	st.bundle = bundle
	authorityOf := func(name string) *authority {
		if len(s.Data[name]) == 0 {
			return nil
		}
		key, err := parseKey(name, s.Data[name])
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		for _, c := range bundle {
			if c.IsCA && belongs(key, c) {
				return &authority{c, key}
			}
		}
		problems = append(problems, &MismatchError{keyBundle, name})
		return nil
	}
	st.signer = authorityOf(keySigner)
	st.next = authorityOf(keyNext)
	st.serving, err = parsePair(keyServing, s.Data[keyServing], keyServingKey, s.Data[keyServingKey])
	if err != nil {
		problems = append(problems, err)
	} else if st.issuer = issuerOf(st.serving.cert.Leaf, bundle); st.issuer == nil {
		problems = append(problems, &FormatError{Name: keyServing, Problem: "is not signed by a CA of " + keyBundle})
	}
	if text := s.Annotations[untilAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &st.until); err != nil {
			problems = append(problems, &FormatError{untilAnnotation, "does not parse", err})
			st.until = nil // then a CA stays until it expires
		}
		if st.until == nil { // as after "null"
			st.until = map[string]time.Time{}
		}
	}
	_, st.rotate = s.Annotations[RotateAnnotation]
	st.problem = errors.Join(problems...)
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

// write puts the state into a copy of the Secret; what is not ours in it stays.
func (st *state) write(s *corev1.Secret) (*corev1.Secret, error) {
	s = s.DeepCopy()
	metav1.SetMetaDataLabel(&s.ObjectMeta, Label, "true")
	if s.Type == "" {
		s.Type = corev1.SecretTypeTLS
	}
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
		delete(s.Annotations, RotateAnnotation)
	}
	return s, nil
}

// trust is the bundle as it is injected.
func (st *state) trust() []byte { return encodeCertificates(st.bundle...) }

// clone is for those who make a new state from this one.
func (st *state) clone() *state {
	c := *st
	c.bundle, c.until = slices.Clone(st.bundle), maps.Clone(st.until)
	return &c
}

// serves reports whether the serving certificate can be used now: it has a key, a CA of the bundle,
// and has not expired. One that is not valid yet counts, for clocks differ.
func (st *state) serves(now time.Time) bool {
	return st.serving != nil && st.issuer != nil && !now.After(st.serving.notAfter) && !now.After(st.issuer.NotAfter)
}

// good reports whether an authority can sign now.
func (a *authority) good(now time.Time) bool { return a != nil && now.Before(a.cert.NotAfter) }
