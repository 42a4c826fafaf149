package cert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// backdate is how long before its creation a certificate becomes valid, for clocks that lag. A day is more than any two
// time zones, or noon and midnight, are apart: a clock that is set by hand is wrong by less, or by days.
const backdate = day

// authority is a CA with its key. It is immutable.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newAuthority makes a CA.
func newAuthority(name string, now time.Time, validity time.Duration) (*authority, error) {
	return certify(nil, &x509.Certificate{
		Subject:        pkix.Name{CommonName: cut(name, 40) + " CA"},
		NotBefore:      now.Add(-backdate),
		NotAfter:       now.Add(validity),
		KeyUsage:       x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:           true,
		MaxPathLenZero: true,
	})
}

// issue makes a serving certificate. It expires no later than its CA.
func (a *authority) issue(names []string, ips []net.IP, now time.Time, validity time.Duration) (*pair, error) {
	made, err := certify(a, serverTemplate(names, ips, now, earlier(now.Add(validity), a.cert.NotAfter)))
	if err != nil {
		return nil, err
	}
	keyPEM, err := encodeKey(made.key)
	if err != nil {
		return nil, err
	}
	return parsePair(keyServing, encodeCertificates(made.cert), keyServingKey, keyPEM)
}

// serverTemplate returns the certificate of a server, unsigned.
func serverTemplate(names []string, ips []net.IP, now, end time.Time) *x509.Certificate {
	name := ""
	if len(names) > 0 {
		name = names[0]
	} else if len(ips) > 0 {
		name = ips[0].String()
	}
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: cut(name, 64)},
		NotBefore:   now.Add(-backdate),
		NotAfter:    end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names,
		IPAddresses: ips,
	}
}

// certify makes a key and its certificate, signed by a CA, or by itself without one. The name of a CA
// gets a part of the serial number.
func certify(by *authority, c *x509.Certificate) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	if c.SerialNumber, err = serialNumber(); err != nil {
		return nil, err
	}
	c.BasicConstraintsValid = true
	if c.IsCA {
		c.Subject.CommonName += " " + c.SerialNumber.Text(16)[:8]
	}
	if by == nil {
		by = &authority{c, key}
	}
	signed, err := by.sign(c, key.Public())
	return &authority{signed, key}, err
}

// sign makes a certificate for a public key.
func (a *authority) sign(template *x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read a certificate just signed: %w", err)
	}
	return c, nil
}

// serialNumber returns a random number of exactly 127 bits.
func serialNumber() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	return n.SetBit(n, 126, 1), nil
}

// createdAt returns the creation time of a certificate made here.
func createdAt(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdate) }

func encodeCertificates(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// fingerprint identifies a certificate.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:16])
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
