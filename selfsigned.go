package flyball

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"
)

// selfSigned makes self-signed certificates, for a server whose clients do not verify it. They encrypt, and
// prove nothing. The first handshake makes one, and a handshake selfSignedRenew later the next one.
type selfSigned struct {
	mu   sync.Mutex
	pair *tls.Certificate
	made time.Time
}

// Validity of a self-signed certificate, and the age at which it is replaced.
const (
	selfSignedFor   = 90 * 24 * time.Hour
	selfSignedRenew = 60 * 24 * time.Hour
)

func newSelfSigned() *selfSigned { return &selfSigned{} }

func (s *selfSigned) config() *tls.Config {
	return &tls.Config{GetCertificate: s.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}

func (s *selfSigned) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.pair != nil && now.Sub(s.made) < selfSignedRenew {
		return s.pair, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSignedFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	s.pair, s.made = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, now
	return s.pair, nil
}
