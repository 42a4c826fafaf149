package ctrlcache

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/internal/transport"
)

// roundTripper is a transport of the program.
type roundTripper struct{ http.RoundTripper }

// The client of the manager is made from the same configuration: then the cache makes a transport of its own.
// Any other client is used as it is.
func TestTransportOfTheProgram(t *testing.T) {
	cfg := &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	own, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		client  *http.Client
		foreign bool
	}{
		"none":                   {nil, false},
		"that of the manager":    {own, false},
		"a wrapper":              {&http.Client{Transport: roundTripper{own.Transport}}, true},
		"another transport":      {&http.Client{Transport: &http.Transport{}}, true},
		"the default of package": {&http.Client{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := connect(cfg, &crcache.Options{HTTPClient: tc.client, Mapper: noMapper{}}, slog.Default())
			if err != nil {
				t.Fatal(err)
			}
			if c.foreign != tc.foreign {
				t.Errorf("foreign: %v", c.foreign)
			}
			to, err := transport.Over(cfg, cmpOr(tc.client, own))
			if err != nil {
				t.Fatal(err)
			}
			if tc.foreign && (to.BearerToken != "" || to.Transport == nil || to.Host != "https://127.0.0.1:1") {
				t.Errorf("%+v", to)
			}
		})
	}
}

func cmpOr(a, b *http.Client) *http.Client {
	if a == nil {
		return b
	}
	return a
}

func TestNoConfigurationIsAnError(t *testing.T) {
	if _, err := New(nil, crcache.Options{}); !errors.Is(err, errNoConfig) {
		t.Error(err)
	}
}

// With ReaderFailOnMissingInformer the answer for a kind without an informer is known without the mapper.
func TestMapperIsNotAskedAboutMissingInformers(t *testing.T) {
	c, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, crcache.Options{Mapper: noMapper{}, ReaderFailOnMissingInformer: true})
	if err != nil {
		t.Fatal(err)
	}
	var missing *crcache.ErrResourceNotCached
	if err := c.Get(t.Context(), crclient.ObjectKey{Name: "a"}, &corev1.Node{}); !errors.As(err, &missing) {
		t.Errorf("Get: %v", err)
	}
	if err := c.List(t.Context(), &corev1.NodeList{}); !errors.As(err, &missing) {
		t.Errorf("List: %v", err)
	}
}

// told sends what it is given.
type told chan string

// HandleWarningHeader implements rest.WarningHandler.
func (c told) HandleWarningHeader(_ int, _, text string) { c <- text }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (c told) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) { c <- text }

// Write implements io.Writer.
func (c told) Write(line []byte) (int, error) {
	c <- string(line)
	return len(line), nil
}

// The warnings of the server go to the handler of the configuration, or else to the log.
func TestWarningsOfTheServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", `299 - "the version is old"`)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	for name, set := range map[string]func(*rest.Config, *Options, told){
		"logger":               func(_ *rest.Config, o *Options, c told) { o.Logger = slog.New(slog.NewTextHandler(c, nil)) },
		"handler":              func(cfg *rest.Config, _ *Options, c told) { cfg.WarningHandler = c },
		"handler with context": func(cfg *rest.Config, _ *Options, c told) { cfg.WarningHandlerWithContext = c },
	} {
		t.Run(name, func(t *testing.T) {
			cfg, o, c := &rest.Config{Host: server.URL}, Options{}, make(told, 100)
			set(cfg, &o, c)
			packed, err := o.New(cfg, crcache.Options{Mapper: mapper})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // only a hanging test takes so long
			defer cancel()
			if _, err := packed.GetInformer(ctx, &corev1.Node{}); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- packed.Start(ctx) }()
			for {
				select {
				case text := <-c:
					if !strings.Contains(text, "the version is old") {
						continue
					}
				case <-ctx.Done():
					t.Error("no warning")
				}
				break
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
