package web

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/http"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// credentials returns the credentials of a request. The listener has verified the certificate.
func credentials(r *http.Request) core.Credentials {
	c := core.Credentials{Authorization: r.Header.Get("Authorization")}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			if c.Impersonate == nil {
				c.Impersonate = map[string][]string{}
			}
			c.Impersonate[name] = values
		}
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		c.Certificate = holder(r.TLS.PeerCertificates[0])
	}
	return c
}

// uidName is the attribute of a certificate's subject that has the uid of its user.
var uidName = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// holder returns the user of a certificate, as the real server does; nil if it names none.
func holder(cert *x509.Certificate) *core.User {
	if cert.Subject.CommonName == "" {
		return nil
	}
	u := &core.User{Name: cert.Subject.CommonName, Groups: cert.Subject.Organization,
		Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(cert.Raw))}}}
	for _, name := range cert.Subject.Names {
		if name.Type.Equal(uidName) {
			u.UID, _ = name.Value.(string)
		}
	}
	return u
}
