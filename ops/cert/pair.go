package cert

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// pair is a certificate chain with its key, parsed and verified to match. It is immutable.
type pair struct {
	cert                tls.Certificate
	notBefore, notAfter time.Time // of the whole chain: the latest start, the earliest end
	certPEM, keyPEM     []byte
}

// parsePair parses a chain and its key. The names are for errors.
func parsePair(certName string, certPEM []byte, keyName string, keyPEM []byte) (*pair, error) {
	chain, err := parseCertificates(certName, certPEM)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(keyName, keyPEM)
	if err != nil {
		return nil, err
	}
	if !belongs(key, chain[0]) {
		return nil, &MismatchError{certName, keyName}
	}
	p := &pair{certPEM: certPEM, keyPEM: keyPEM, notBefore: chain[0].NotBefore, notAfter: chain[0].NotAfter}
	p.cert = tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, c := range chain {
		p.cert.Certificate = append(p.cert.Certificate, c.Raw)
		if c.NotBefore.After(p.notBefore) {
			p.notBefore = c.NotBefore
		}
		if c.NotAfter.Before(p.notAfter) {
			p.notAfter = c.NotAfter
		}
	}
	return p, nil
}

// validity returns nil while the chain is valid, otherwise a ValidityError.
func (p *pair) validity(name string, now time.Time) error {
	if now.Before(p.notBefore) || now.After(p.notAfter) {
		return &ValidityError{name, p.notBefore, p.notAfter, now}
	}
	return nil
}

// parseCertificates parses all certificates of a PEM text and skips other blocks. It returns an
// error if there is none, or if one is damaged; then it returns the others all the same.
func parseCertificates(name string, data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	var bad error
	begun := bytes.Count(data, []byte("-----BEGIN"))
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		begun--
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			bad = &FormatError{name, "has a certificate that does not parse", err}
			continue
		}
		out = append(out, c)
	}
	switch {
	case bad != nil:
		return out, bad
	case begun > 0:
		return out, &FormatError{Name: name, Problem: "is cut off or damaged"}
	case len(out) == 0:
		return nil, &FormatError{Name: name, Problem: "has no certificate in PEM form"}
	}
	return out, nil
}

// parseKey parses the first private key of a PEM text: PKCS #8, PKCS #1 or SEC 1.
func parseKey(name string, data []byte) (crypto.Signer, error) {
	for {
		block, rest := pem.Decode(data)
		switch {
		case block == nil && bytes.Contains(data, []byte("-----BEGIN")):
			return nil, &FormatError{Name: name, Problem: "is cut off or damaged"}
		case block == nil:
			return nil, &FormatError{Name: name, Problem: "has no private key in PEM form"}
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return nil, &FormatError{Name: name, Problem: "has a private key that is encrypted"}
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return decodeKey(name, block.Bytes)
		}
		data = rest
	}
}

// decodeKey tries all forms, because tools mislabel keys.
func decodeKey(name string, der []byte) (crypto.Signer, error) {
	key, problem := x509.ParsePKCS8PrivateKey(der)
	if rsa, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		key, problem = rsa, nil
	} else if ec, err := x509.ParseECPrivateKey(der); err == nil {
		key, problem = ec, nil
	}
	if problem != nil {
		return nil, &FormatError{name, "has a private key that does not parse", problem}
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, &FormatError{Name: name, Problem: "has a private key that cannot sign"}
	}
	return signer, nil
}

// belongs reports whether the key matches the certificate.
func belongs(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}
