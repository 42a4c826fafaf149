package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

var silent = slog.New(slog.DiscardHandler)

var loopback = []net.IP{net.IPv4(127, 0, 0, 1)}

// pemPair is a certificate and a key as PEM.
type pemPair struct{ cert, key []byte }

// selfMade returns a serving certificate with a CA of its own.
func selfMade(t testing.TB, now time.Time, validity time.Duration) pemPair {
	t.Helper()
	ca, err := newAuthority("test", now, 100*validity)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ca.issue([]string{"localhost"}, loopback, now, validity)
	if err != nil {
		t.Fatal(err)
	}
	return pemPair{p.certPEM, p.keyPEM}
}

// chained returns one leaf below two intermediates with the same key: the chains differ behind the
// leaf.
func chained(t testing.TB, now time.Time, validity time.Duration) (a, b pemPair) {
	t.Helper()
	root, err := newAuthority("root", now, 100*validity)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	between := func(n int64, validity time.Duration) *authority {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: "between"}, NotBefore: now.Add(-backdate), NotAfter: now.Add(validity),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		c, err := root.sign(template, key.Public())
		if err != nil {
			t.Fatal(err)
		}
		return &authority{c, key}
	}
	one, two := between(1, validity/2), between(2, validity)
	p, err := one.issue([]string{"localhost"}, loopback, now, 2*validity)
	if err != nil {
		t.Fatal(err)
	}
	join := func(c *x509.Certificate) pemPair {
		return pemPair{append(append([]byte{}, p.certPEM...), encodeCertificates(c)...), p.keyPEM}
	}
	return join(one.cert), join(two.cert)
}
