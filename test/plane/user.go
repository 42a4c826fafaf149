package plane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// UserConfig returns the client configuration of a user with these groups, with a new client
// certificate. The user has the permissions that RBAC grants; by default that is little more than
// discovery. There is no client-side rate limit.
func (p *Plane) UserConfig(user string, groups ...string) (*rest.Config, error) {
	cert, key, err := p.issue(user, groups)
	if err != nil {
		return nil, fmt.Errorf("plane: certificate for %s: %w", user, err)
	}
	config := rest.AnonymousClientConfig(p.config)
	config.CertData, config.KeyData = cert, key
	config.QPS = -1
	return config, nil
}

// UserKubeconfig returns a self-contained kubeconfig for the user of UserConfig, as text.
func (p *Plane) UserKubeconfig(user string, groups ...string) ([]byte, error) {
	rc, err := p.UserConfig(user, groups...)
	if err != nil {
		return nil, err
	}
	const name = "flyball"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: rc.Host, CertificateAuthorityData: rc.CAData}
	cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: rc.CertData, ClientKeyData: rc.KeyData}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	cfg.CurrentContext = name
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return nil, fmt.Errorf("plane: kubeconfig for %s: %w", user, err)
	}
	return data, nil
}

// issue makes a client certificate signed by the control plane's CA. The CA's key is in the data
// directory.
func (p *Plane) issue(user string, groups []string) (certPEM, keyPEM []byte, err error) {
	pki := filepath.Join(p.dir, "pki")
	ca, err := tls.LoadX509KeyPair(filepath.Join(pki, "ca.crt"), filepath.Join(pki, "ca.key"))
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     ca.Leaf.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	return certPEM, keyPEM, nil
}
