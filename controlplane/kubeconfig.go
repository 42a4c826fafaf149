package main

import (
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes the administrator's kubeconfig, complete in itself,
// into the data directory.
func writeKubeconfig(f *files, url string) error {
	const name = "flyball"
	cfg := clientcmdapi.NewConfig()
	cluster, user := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
	cluster.Server = url
	for _, part := range []struct {
		to   *[]byte
		name string
	}{
		{&cluster.CertificateAuthorityData, f.caCert},
		{&user.ClientCertificateData, f.adminCert},
		{&user.ClientKeyData, f.adminKey},
	} {
		data, err := os.ReadFile(part.name)
		if err != nil {
			return err
		}
		*part.to = data
	}
	entry := clientcmdapi.NewContext()
	entry.Cluster, entry.AuthInfo = name, name
	cfg.Clusters[name], cfg.AuthInfos[name], cfg.Contexts[name] = cluster, user, entry
	cfg.CurrentContext = name
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return err
	}
	return os.WriteFile(f.kubeconfig, data, 0o600)
}
