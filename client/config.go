package client

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ConfigOptions says where the configuration of a cluster is. The zero value takes the first that
// exists of $KUBECONFIG, ~/.kube/config and the in-cluster configuration.
type ConfigOptions struct {
	// Kubeconfig is the only file to read. Empty: the usual places.
	Kubeconfig string
	// Context is a context of the kubeconfig. Empty: its current context.
	Context string
}

// ConfigError is the error for a configuration that cannot be used. It is not there, has a mistake, or does
// not fit the server at its address. The certificate is then for another name or of an unknown authority,
// one side speaks HTTPS and the other HTTP, or the server is no API server. A retry does not help.
type ConfigError struct {
	// Call is the request that failed; empty if none was made.
	Call
	// Source is where the configuration is from: a file or files, "in-cluster" or "rest.Config". For
	// a failed request it is the URL of the server.
	Source string
	// Problem says what is wrong, for people; empty: the cause says it.
	Problem string
	cause   error
}

func (e *ConfigError) Error() string {
	text := "configuration " + e.Source + ": "
	if errors.Is(e.cause, rest.ErrNotInCluster) {
		return "no cluster configuration: tried " + e.Source + "; name a kubeconfig file"
	}
	if e.Verb != "" {
		text = e.Call.String() + ": server " + e.Source + ": "
	}
	if e.Problem != "" {
		text += e.Problem + ": "
	}
	return text + e.cause.Error()
}

// Unwrap returns the cause, for example that of crypto/tls. It is rest.ErrNotInCluster if there is no
// configuration at all.
func (e *ConfigError) Unwrap() error { return e.cause }

// Config reads the configuration and the credentials of a cluster. It reads files and sends nothing;
// [Live.Check] asks the server. The error is a [ConfigError].
//
// A client uses the content that was read: it does not follow a kubeconfig that changes, since the new address may be
// that of another cluster. It reads again the files that a configuration names: of tokens, certificates and the CA.
func Config(o ConfigOptions) (*rest.Config, error) {
	if o.Kubeconfig != "" {
		return fromFiles(o.Kubeconfig, []string{o.Kubeconfig}, o.Context)
	}
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); env != "" {
		return fromFiles("$KUBECONFIG ("+env+")", filepath.SplitList(env), o.Context)
	}
	home := "~/.kube/config"
	if dir, err := os.UserHomeDir(); err == nil {
		home = filepath.Join(dir, ".kube", "config")
		if _, err := os.Stat(home); err == nil {
			return fromFiles(home, []string{home}, o.Context)
		}
	}
	if o.Context != "" {
		return nil, &ConfigError{Source: "$KUBECONFIG, " + home, cause: rest.ErrNotInCluster}
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, &ConfigError{Source: "$KUBECONFIG, " + home + ", in-cluster", cause: err}
	}
	if err != nil {
		return nil, &ConfigError{Source: "in-cluster", cause: err}
	}
	return cfg, nil
}

// fromFiles merges the files as kubectl does: the first file that sets a value wins. It takes one
// context of the result.
func fromFiles(source string, files []string, context string) (*rest.Config, error) {
	bad := func(err error) (*rest.Config, error) { return nil, &ConfigError{Source: source, cause: err} }
	if len(files) == 1 {
		if _, err := os.Stat(files[0]); err != nil {
			return bad(err)
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files, WarnIfAllMissing: false}
	merged, err := rules.Load()
	if err != nil {
		return bad(err)
	}
	if err := usable(merged, &context); err != nil {
		return bad(err)
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*merged, context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return bad(err)
	}
	return cfg, nil
}

// usable returns an error in plain words for a missing part. clientcmd would fill it with a default.
func usable(c *api.Config, context *string) error {
	if len(c.Contexts) == 0 && len(c.Clusters) == 0 {
		return errors.New("is empty: it has no clusters and no contexts")
	}
	if *context == "" {
		*context = c.CurrentContext
	}
	known := slices.Sorted(maps.Keys(c.Contexts))
	if *context == "" {
		return fmt.Errorf("has no current-context; its contexts are %q", known)
	}
	ctx, ok := c.Contexts[*context]
	if !ok {
		return fmt.Errorf("has no context %q; its contexts are %q", *context, known)
	}
	cluster, ok := c.Clusters[ctx.Cluster]
	if !ok {
		return fmt.Errorf("context %q names cluster %q, which is not there", *context, ctx.Cluster)
	}
	if cluster.Server == "" {
		return fmt.Errorf("cluster %q has no server", ctx.Cluster)
	}
	if _, ok := c.AuthInfos[ctx.AuthInfo]; !ok && ctx.AuthInfo != "" {
		return fmt.Errorf("context %q names user %q, who is not there", *context, ctx.AuthInfo)
	}
	return nil
}
