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

// makeCertificate writes a certificate for this machine into a folder, as cert-manager does into a
// Secret. It returns the CA. The certificate is that of package httptest.
func makeCertificate(dir string) (ca []byte, err error) {
	srv := httptest.NewTLSServer(nil)
	srv.Close()
	pair := srv.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	return ca, errors.Join(err,
		os.WriteFile(filepath.Join(dir, "tls.crt"), ca, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

// trusting sets the CA in the objects that make the API server call the operator.
func trusting(calls []manifest.Object, ca []byte) {
	bundle := base64.StdEncoding.EncodeToString(ca)
	for _, o := range calls {
		if manifest.IsCRD(o) {
			_ = unstructured.SetNestedField(o.Object, bundle, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		}
		manifest.EachHook(o, func(hook map[string]any) { _ = unstructured.SetNestedField(hook, bundle, "clientConfig", "caBundle") })
	}
}
