package apiserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/pki"
)

// admin is the user of RESTConfig and Kubeconfig, and masters its group.
const admin, masters = "admin", "system:masters"

// nobody returns the user of requests without credentials.
func (o Options) nobody() core.User {
	switch {
	case o.RBAC:
		return core.Anonymous
	case o.TLS:
		return core.User{} // refused
	}
	return core.Administrator
}

// serveTLS serves a listener, with the keys of a seed.
func (s *Server) serveTLS(l net.Listener, seed string) error {
	authority, err := pki.Of(seed)
	if err != nil {
		return fmt.Errorf("apiserver: %w", err)
	}
	s.pki = authority
	s.url = "https" + strings.TrimPrefix(s.url, "http")
	s.requests.next, s.http.Handler = s.http.Handler, &s.requests
	s.http.TLSConfig = authority.Server()
	s.http.ErrorLog = log.New(io.Discard, "", 0) // its errors also show at the clients
	go s.http.ServeTLS(l, "", "")                // Close waits for its end
	return nil
}

// RESTConfig returns the client configuration of an administrator, without a client-side rate limit. The caller owns
// it.
func (s *Server) RESTConfig() *rest.Config {
	config, err := s.UserConfig(admin, masters)
	if err != nil {
		panic(err) // the server has a key, and the user a name
	}
	return config
}

// UserConfig returns the client configuration of a user with these groups, without a client-side rate limit. With TLS
// it has a client certificate; otherwise an administrator impersonates the user. With RBAC the user has only the
// permissions that roles grant, which at first is little more than discovery. The caller owns the configuration.
func (s *Server) UserConfig(user string, groups ...string) (*rest.Config, error) {
	if user == "" {
		return nil, errors.New("apiserver: the user has no name")
	}
	config := &rest.Config{Host: s.url, QPS: -1, Dial: s.dial}
	if s.rt != nil {
		config.Transport = s.rt
	}
	if s.pki == nil {
		if user != admin || !slices.Equal(groups, []string{masters}) {
			config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
		}
		return config, nil
	}
	cert, key, err := s.pki.User(user, groups)
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	config.TLSClientConfig = rest.TLSClientConfig{CAData: s.pki.CA(), CertData: cert, KeyData: key}
	return config, nil
}

// Kubeconfig returns a kubeconfig of an administrator, as text for a file. kubectl works with it:
//
//	err := os.WriteFile("kubeconfig", s.Kubeconfig(), 0o600)
func (s *Server) Kubeconfig() []byte {
	text, err := s.UserKubeconfig(admin, masters)
	if err != nil {
		panic(err) // as in RESTConfig
	}
	return text
}

// UserKubeconfig returns a kubeconfig of a user, as text for a file. See [Server.UserConfig]. It refers to no other
// file.
func (s *Server) UserKubeconfig(user string, groups ...string) ([]byte, error) {
	config, err := s.UserConfig(user, groups...)
	if err != nil {
		return nil, err
	}
	cluster, who := fmt.Sprintf("server: %q", s.url), ""
	switch as := config.Impersonate; {
	case s.pki != nil:
		cluster += fmt.Sprintf(", certificate-authority-data: %s", encoded(config.CAData))
		who = fmt.Sprintf("client-certificate-data: %s, client-key-data: %s", encoded(config.CertData), encoded(config.KeyData))
	case as.UserName != "":
		who = fmt.Sprintf("as: %q, as-groups: [%s]", as.UserName, quoted(as.Groups))
	}
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: memory
clusters: [{name: memory, cluster: {%s}}]
contexts: [{name: memory, context: {cluster: memory, user: %q}}]
users: [{name: %q, user: {%s}}]
`, cluster, user, user, who), nil
}

func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func quoted(all []string) string {
	var out []string
	for _, text := range all {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return strings.Join(out, ", ")
}
