package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// files are the absolute names of what the data directory holds beside
// etcd's data. Other programs rely on pki/ca.crt, pki/ca.key (to issue
// client certificates for users of their choice) and admin.kubeconfig.
type files struct {
	dir                    string
	caCert, caKey          string
	serverCert, serverKey  string
	adminCert, adminKey    string
	accountKey, accountPub string
	kubeconfig             string
	port                   string
}

// validity outlives any data directory.
const validity = 10 * 365 * 24 * time.Hour

// writeCredentials makes the certificates and keys of a new data directory,
// and leaves those of an old one as they are, so that a kubeconfig stays
// valid over restarts.
func writeCredentials(dir string) (*files, error) {
	pki := filepath.Join(dir, "pki")
	f := &files{
		dir:        dir,
		caCert:     filepath.Join(pki, "ca.crt"),
		caKey:      filepath.Join(pki, "ca.key"),
		serverCert: filepath.Join(pki, "server.crt"),
		serverKey:  filepath.Join(pki, "server.key"),
		adminCert:  filepath.Join(pki, "admin.crt"),
		adminKey:   filepath.Join(pki, "admin.key"),
		accountKey: filepath.Join(pki, "serviceaccount.key"),
		accountPub: filepath.Join(pki, "serviceaccount.pub"),
		kubeconfig: filepath.Join(dir, "admin.kubeconfig"),
		port:       filepath.Join(dir, "port"),
	}
	// The directory appears complete or not at all.
	if _, err := os.Stat(pki); err == nil {
		return f, nil
	}
	tmp, err := os.MkdirTemp(dir, "pki-")
	if err != nil {
		return nil, err
	}
	if err := issueAll(f, tmp); err != nil {
		return nil, err
	}
	return f, os.Rename(tmp, pki)
}

// issueAll writes all certificates and keys of f into the directory tmp.
func issueAll(f *files, tmp string) error {
	in := func(name string) string { return filepath.Join(tmp, filepath.Base(name)) }
	ca := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "flyball-controlplane"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	caKey, err := issue(ca, ca, nil, in(f.caCert), in(f.caKey))
	if err != nil {
		return err
	}
	server := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.ParseIP(kubernetesIP)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
	}
	if _, err := issue(server, ca, caKey, in(f.serverCert), in(f.serverKey)); err != nil {
		return err
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if _, err := issue(admin, ca, caKey, in(f.adminCert), in(f.adminKey)); err != nil {
		return err
	}
	return accountKeys(in(f.accountKey), in(f.accountPub))
}

// issue makes a key for the certificate cert, signs it by parent's key (nil:
// by its own) and writes both.
func issue(cert, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, certFile, keyFile string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if parentKey == nil {
		parentKey = key
	}
	if cert.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	cert.NotBefore = time.Now().Add(-time.Hour)
	cert.NotAfter = cert.NotBefore.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cert.Subject.CommonName, err)
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return key, writeKey(keyFile, key)
}

// accountKeys writes the key pair that signs service account tokens.
func accountKeys(keyFile, pubFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	pub, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(pubFile, "PUBLIC KEY", pub); err != nil {
		return err
	}
	return writeKey(keyFile, key)
}

func writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(name, "EC PRIVATE KEY", der)
}

func writePEM(name, kind string, der []byte) error {
	return os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
