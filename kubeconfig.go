package flyball

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/run"
)

// kubeconfig tells when the files that a configuration came from have another content. The program goes on with
// what it has read: an address that changes may be that of another cluster. Files that a configuration names,
// such as those of tokens and certificates, are read again by the client. Nil: the configuration was given.
type kubeconfig struct {
	read   func() (*rest.Config, error)
	used   *rest.Config
	logger *slog.Logger
	period time.Duration // from one look at the files to the next

	mu      sync.Mutex
	changed []string // the parts that differ; none: as it was read
}

// kubeconfigPeriod is how often a manager looks at its kubeconfig.
const kubeconfigPeriod = time.Minute

// newKubeconfig returns nil if the options had a configuration.
func newKubeconfig(given *rest.Config, o Options) *kubeconfig {
	if given != nil {
		return nil
	}
	return &kubeconfig{read: o.located, used: o.Config, logger: o.Logger, period: kubeconfigPeriod}
}

// run looks at the files from time to time, and logs each change once.
func (k *kubeconfig) run(ctx context.Context) error {
	for run.Sleep(ctx, k.period) == nil {
		looked := make(chan struct{})
		go func() { // a file system may hang
			defer close(looked)
			k.look()
		}()
		select {
		case <-looked:
		case <-ctx.Done():
		}
	}
	return nil
}

// look compares the files with what was read. Files that cannot be read say nothing: they may be half written.
func (k *kubeconfig) look() {
	if now, err := k.read(); err == nil {
		k.tell(changedParts(k.used, now))
	}
}

// tell takes the parts that differ now.
func (k *kubeconfig) tell(parts []string) {
	k.mu.Lock()
	same := slices.Equal(parts, k.changed)
	k.changed = parts
	k.mu.Unlock()
	switch {
	case same:
	case len(parts) > 0:
		k.logger.Warn("the kubeconfig has changed since this program read it", "changed", parts)
	default:
		k.logger.Info("the kubeconfig is again as this program read it")
	}
}

// explain adds to the error of a check that the kubeconfig has changed.
func (k *kubeconfig) explain(err error) error {
	if k == nil || err == nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.changed) == 0 {
		return err
	}
	return fmt.Errorf("%w; the kubeconfig has changed since this program read it (%s): restart the program to use it", err, strings.Join(k.changed, ", "))
}

// configParts names the parts of a configuration that are no credentials, by the fields they are in.
var configParts = map[string]string{
	"Host": "server", "APIPath": "server", "ServerName": "server", "DisableCompression": "server",
	"Insecure": "certificate authority", "CAFile": "certificate authority", "CAData": "certificate authority",
}

// changedParts names the parts in which two configurations differ, sorted.
func changedParts(was, is *rest.Config) []string {
	var parts []string
	compare := func(a, b reflect.Value) {
		for f, x := range a.Fields() {
			y := b.FieldByIndex(f.Index)
			switch kind := f.Type.Kind(); {
			case kind == reflect.Func, kind == reflect.Interface, f.Name == "TLSClientConfig":
			case f.Name == "BearerToken" && was.BearerTokenFile != "" && was.BearerTokenFile == is.BearerTokenFile:
			case !reflect.DeepEqual(x.Interface(), y.Interface()):
				parts = append(parts, cmp.Or(configParts[f.Name], "credentials"))
			}
		}
	}
	compare(reflect.ValueOf(*was), reflect.ValueOf(*is))
	compare(reflect.ValueOf(was.TLSClientConfig), reflect.ValueOf(is.TLSClientConfig))
	if proxyOf(was) != proxyOf(is) {
		parts = append(parts, "proxy")
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// proxyOf is the proxy that a configuration has for its server.
func proxyOf(c *rest.Config) string {
	if c.Proxy == nil {
		return ""
	}
	server, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return ""
	}
	proxy, err := c.Proxy(&http.Request{URL: server})
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.String()
}
