package cert

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestParsePairNamesTheProblem(t *testing.T) {
	now := time.Now()
	one, other := selfMade(t, now, time.Hour), selfMade(t, now, time.Hour)
	a, _ := chained(t, now, time.Hour)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, c := range []struct {
		name      string
		cert, key []byte
		want      string // part of the error; empty: none
	}{
		{"good", one.cert, one.key, ""},
		{"a chain", a.cert, a.key, ""},
		{"text around", join([]byte("subject: x\n"), one.cert, []byte("\nbye\n")), join([]byte("Bag Attributes\n"), one.key), ""},
		{"key and certificate in one file", join(one.key, one.cert), join(one.key, one.cert), ""},
		{"no line end", bytes.TrimSpace(one.cert), bytes.TrimSpace(one.key), ""},
		{"key of another", one.cert, other.key, "certificate C does not match key K"},
		{"key of another sort", one.cert, rsaKey, "certificate C does not match key K"},
		{"empty certificate", nil, one.key, "C has no certificate"},
		{"empty key", one.cert, nil, "K has no private key"},
		{"swapped", one.key, one.cert, "C has no certificate"},
		{"half a certificate", one.cert[:len(one.cert)/2], one.key, "C is cut off"},
		{"half an intermediate", a.cert[:len(a.cert)-40], a.key, "C is cut off"},
		{"half a key", one.cert, one.key[:len(one.key)/2], "K is cut off"},
		{"no DER", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), one.key, "C has a certificate that does not parse"},
		{"no DER in the key", one.cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), "K has a private key that does not parse"},
		{"encrypted", one.cert, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), "K has a private key that is encrypted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := parsePair("C", c.cert, "K", c.key)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want == "":
				if _, err := tls.X509KeyPair(c.cert, c.key); err != nil {
					t.Errorf("crypto/tls does not agree: %v", err)
				}
				if p.cert.Leaf == nil || len(p.cert.Certificate) == 0 {
					t.Error("no leaf")
				}
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Keys of every kind that a server can have parse as in crypto/tls, whatever their label says.
func TestKeysParseAsInCryptoTLS(t *testing.T) {
	now := time.Now()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ecKey)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[crypto.Signer][][]byte{rsaKey: {x509.MarshalPKCS1PrivateKey(rsaKey)}, ecKey: {sec1}, &edKey: nil}
	for signer, texts := range forms {
		var key any = signer
		if ed, ok := signer.(*ed25519.PrivateKey); ok {
			key = *ed
		}
		pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		for _, text := range append(texts, pkcs8) {
			for _, label := range []string{"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"} {
				data := pem.EncodeToMemory(&pem.Block{Type: label, Bytes: text})
				data = append([]byte("-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n"), data...)
				for _, data := range [][]byte{data, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))} {
					if _, err := parsePair("C", cert, "K", data); err != nil {
						t.Errorf("%T labelled %q: %v", signer, label, err)
					}
				}
			}
		}
	}
}

func TestExpiryIsThatOfTheChain(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	a, b := chained(t, now, time.Hour)
	for _, c := range []struct {
		pair pemPair
		want time.Time
	}{{a, now.Add(30 * time.Minute)}, {b, now.Add(30 * time.Minute)}} {
		p, err := parsePair("C", c.pair.cert, "K", c.pair.key)
		if err != nil {
			t.Fatal(err)
		}
		if !p.notAfter.Equal(c.want) {
			t.Errorf("expires %v, want %v", p.notAfter, c.want)
		}
		var invalid *ValidityError
		if err := p.validity("C", now.Add(31*time.Minute)); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "C expired at") {
			t.Errorf("after it: %v", err)
		}
		if err := p.validity("C", now.Add(-backdate-time.Hour)); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "C is not valid before") {
			t.Errorf("before it: %v", err)
		}
		if err := p.validity("C", now); err != nil {
			t.Error(err)
		}
	}
}

// FuzzParsePair: a pair that parses is one that crypto/tls accepts, and nothing panics.
func FuzzParsePair(f *testing.F) {
	now := time.Now()
	one, other := selfMade(f, now, time.Hour), selfMade(f, now, time.Hour)
	a, _ := chained(f, now, time.Hour)
	f.Add(one.cert, one.key)
	f.Add(a.cert, a.key)
	f.Add(one.cert, other.key)
	f.Add(one.cert[:100], one.key)
	f.Add(append(one.key, one.cert...), one.key)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		p, err := parsePair("C", cert, "K", key)
		if (p == nil) == (err == nil) {
			t.Fatalf("pair %v, error %v", p, err)
		}
		if err != nil {
			return
		}
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			t.Fatalf("crypto/tls: %v", err)
		}
	})
}
