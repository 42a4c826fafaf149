package cert

import (
	"crypto/tls"
	"sync"
	"time"
)

// SelfSigned returns the configuration of a server whose clients do not verify it: TLS 1.2 or newer,
// and HTTP/1.1 only. The first handshake makes a self-signed certificate for localhost, valid for 90
// days. A handshake 60 days later makes the next one. It encrypts, and proves nothing. The
// configuration belongs to the caller, who may change it before use.
func SelfSigned() *tls.Config { return serverConfig(new(selfSigned).get) }

const selfSignedRenew = 60 * day

type selfSigned struct {
	mu   sync.Mutex
	pair *tls.Certificate
	made time.Time
}

func (s *selfSigned) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.pair != nil && now.Sub(s.made) < selfSignedRenew {
		return s.pair, nil
	}
	a, err := certify(nil, serverTemplate([]string{"localhost"}, nil, now, now.Add(defaultValidity)))
	if err != nil {
		return nil, err
	}
	s.pair, s.made = &tls.Certificate{Certificate: [][]byte{a.cert.Raw}, PrivateKey: a.key, Leaf: a.cert}, now
	return s.pair, nil
}
