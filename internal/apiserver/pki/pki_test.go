package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"testing"
)

// A client with a certificate of the authority is known to the server, and the server to the client. One of
// another authority is not.
func TestHandshake(t *testing.T) {
	a, b := authority(t, "a"), authority(t, "b")
	for _, c := range []struct {
		name          string
		trusts, shows *Authority
		user          string
	}{
		{"known", a, a, "eve"},
		{"nobody", a, nil, ""},
		{"a user of another authority", a, b, "-"},
		{"a server of another authority", b, a, "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := x509.NewCertPool()
			if !pool.AppendCertsFromPEM(c.trusts.CA()) {
				t.Fatal("the CA is no certificate")
			}
			config := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: []string{"h2"}}
			if c.shows != nil {
				cert, key, err := c.shows.User("eve", []string{"g", "h"})
				if err != nil {
					t.Fatal(err)
				}
				pair, err := tls.X509KeyPair(cert, key)
				if err != nil {
					t.Fatal(err)
				}
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			}
			one, other := net.Pipe()
			defer one.Close()
			defer other.Close()
			server, client := tls.Server(one, a.Server()), tls.Client(other, config)
			failed := make(chan error, 1)
			go func() {
				err := client.Handshake()
				if err == nil {
					_, err = client.Read(make([]byte, 1)) // the server judges the certificate after the client's handshake
				} else {
					other.Close()
				}
				failed <- err
			}()
			err := server.Handshake()
			if err == nil {
				_, err = server.Write([]byte("x"))
			}
			user := "-"
			if cErr := <-failed; err == nil && cErr == nil {
				user = ""
				state := server.ConnectionState()
				if len(state.VerifiedChains) > 0 {
					user = state.PeerCertificates[0].Subject.CommonName
					if got := state.PeerCertificates[0].Subject.Organization; !slices.Equal(got, []string{"g", "h"}) {
						t.Errorf("groups %q", got)
					}
				}
				if state.NegotiatedProtocol != "h2" {
					t.Errorf("protocol %q", state.NegotiatedProtocol)
				}
			}
			if user != c.user {
				t.Errorf("user %q, want %q (%v)", user, c.user, err)
			}
		})
	}
}

// The same seed gives the same certificates, another one others.
func TestSeed(t *testing.T) {
	cert, key, err := authority(t, "a").User("u", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newAuthority("a")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.CA(), authority(t, "a").CA()) || bytes.Equal(again.CA(), authority(t, "b").CA()) {
		t.Error("the CA does not come from the seed")
	}
	cert2, key2, err := again.User("u", nil)
	if err != nil || !bytes.Equal(cert, cert2) || !bytes.Equal(key, key2) {
		t.Errorf("another certificate: %v", err)
	}
	if cert3, _, err := again.User("v", nil); err != nil || bytes.Equal(cert, cert3) {
		t.Errorf("two users have one certificate: %v", err)
	}
}

func authority(t *testing.T, seed string) *Authority {
	t.Helper()
	a, err := Of(seed)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := newAuthority("a"); err != nil {
			b.Fatal(err)
		}
	}
}
