package operatortest

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/manifest"
)

// certify writes a certificate for this machine into CertDir, as cert-manager does into a Secret, and
// its CA into the objects that make the API server call the operator. It is that of package httptest.
func (op *Operator) certify() error {
	s := httptest.NewTLSServer(nil)
	s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	bundle := base64.StdEncoding.EncodeToString(ca)
	for _, o := range op.callers {
		if manifest.IsCRD(o) {
			err = errors.Join(err, unstructured.SetNestedField(o.Object, bundle, "spec", "conversion", "webhook", "clientConfig", "caBundle"))
		}
		manifest.EachHook(o, func(hook map[string]any) {
			err = errors.Join(err, unstructured.SetNestedField(hook, bundle, "clientConfig", "caBundle"))
		})
	}
	return errors.Join(err, os.WriteFile(filepath.Join(op.CertDir, "tls.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(op.CertDir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}
