// Package pki makes the keys and certificates of an API server in memory. It derives them from a seed, without
// randomness or a clock. Servers with equal seeds share them.
//
// Anybody who knows the seed can compute the keys. They are no secrets: use them for tests on loopback only.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// Certificates are valid at any time that a clock may show, that of testing/synctest included.
var (
	notBefore = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Authority signs the certificates of one seed. It never changes, and is safe for concurrent use.
type Authority struct {
	seed   string
	ca     *x509.Certificate
	key    *ecdsa.PrivateKey
	pem    []byte
	server tls.Certificate
}

var known struct {
	sync.Mutex
	of map[string]*Authority
}

// maxKnown bounds the authorities that are kept.
const maxKnown = 256

// Of returns the authority of a seed.
func Of(seed string) (*Authority, error) {
	known.Lock()
	defer known.Unlock()
	if a := known.of[seed]; a != nil {
		return a, nil
	}
	a, err := newAuthority(seed)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	if known.of == nil || len(known.of) >= maxKnown {
		known.of = map[string]*Authority{}
	}
	known.of[seed] = a
	return a, nil
}

func newAuthority(seed string) (*Authority, error) {
	a := &Authority{seed: seed}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "flyball-apiserver"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a.ca = template // signs itself
	der, key, err := a.issue(template, "authority")
	if err != nil {
		return nil, err
	}
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.key, a.pem = key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	der, key, err = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
	}, "server")
	a.server = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return a, err
}

// issue makes a certificate for the key that is derived from a name.
func (a *Authority) issue(template *x509.Certificate, name string) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = keyOf(a.seed + " " + name); err != nil {
		return nil, nil, err
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	sum := sha256.Sum256([]byte("serial number " + name))
	template.SerialNumber = new(big.Int).SetBytes(sum[:15])
	template.NotBefore, template.NotAfter = notBefore, notAfter
	der, err = x509.CreateCertificate(nil, template, a.ca, &key.PublicKey, signer) // without randomness the signature is that of RFC 6979
	return der, key, err
}

// keyOf derives a key from a text.
func keyOf(text string) (key *ecdsa.PrivateKey, err error) {
	for try := range 8 { // a number above the order of the curve is no key
		sum := sha256.Sum256(fmt.Appendf(nil, "key of %q, %d", text, try))
		if key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:]); err == nil {
			return key, nil
		}
	}
	return nil, err
}

// CA returns the certificate of the authority, which clients trust, as PEM. The caller must not change it.
func (a *Authority) CA() []byte { return a.pem }

// Server returns the TLS configuration of a server. It verifies client certificates by the authority, and does not
// require one. The caller owns it.
func (a *Authority) Server() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.ca)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{a.server}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool,
	}
}

// User returns a client certificate for a user with groups, and its key, both as PEM. Equal arguments give equal
// bytes.
func (a *Authority) User(user string, groups []string) (cert, key []byte, err error) {
	der, private, err := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, fmt.Sprintf("user %q %q", user, groups))
	if err != nil {
		return nil, nil, fmt.Errorf("certificate of user %q: %w", user, err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate of user %q: %w", user, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text}), nil
}
