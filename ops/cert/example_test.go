package cert_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/run"
)

// A server with a certificate that is mounted from a Secret. It needs no restart when the Secret
// changes.
func ExampleNewFiles() {
	dir, err := os.MkdirTemp("", "certs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	_, err = cert.NewFiles(cert.FilesOptions{Dir: dir})
	fmt.Println(err != nil) // "… tls.crt: no such file or directory"

	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("hello"), 0o600); err != nil {
			panic(err)
		}
	}
	_, err = cert.NewFiles(cert.FilesOptions{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	fmt.Println(err.Error() == "cert: "+filepath.Join(dir, "tls.crt")+" has no certificate in PEM form")
	// Output:
	// true
	// true
}

// A webhook server that makes its own certificate, shares it with its replicas, and makes the API
// server trust it.
func ExampleNewManaged() {
	serve := func(ctx context.Context, c *client.Live, handler http.Handler) error {
		source, err := cert.NewManaged(c, cert.ManagedOptions{
			Namespace: "shop", Name: "shop-webhook-cert", Service: "shop-webhook",
			Validating: []string{"shop-validating"},
			CRDs:       []string{"orders.shop.example.com"},
		})
		if err != nil {
			return err
		}
		g, _ := run.New(ctx)
		g.Go("certificate", source.Run)
		g.Go("webhooks", func(ctx context.Context) error {
			select {
			case <-source.Ready():
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			s := &http.Server{Addr: ":9443", Handler: handler, TLSConfig: cert.TLS(source), ReadHeaderTimeout: 10 * time.Second}
			defer context.AfterFunc(ctx, func() { _ = s.Close() })()
			return s.ListenAndServeTLS("", "")
		})
		return g.Wait()
	}
	_ = serve
}

// The permissions of a Role and a ClusterRole.
func ExampleManagedOptions_Rules() {
	o := cert.ManagedOptions{Namespace: "shop", Name: "shop-webhook-cert", Service: "shop-webhook", CRDs: []string{"orders.shop.example.com"}}
	role, clusterRole := o.Rules()
	for _, r := range append(role, clusterRole...) {
		fmt.Println(r.Resources, r.ResourceNames, r.Verbs)
	}
	// Output:
	// [secrets] [] [create]
	// [secrets] [shop-webhook-cert] [get update watch]
	// [customresourcedefinitions] [orders.shop.example.com] [get patch watch]
}
