package cert_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/servertest"
)

var loopback = []net.IP{net.IPv4(127, 0, 0, 1)}

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

type cluster struct {
	*client.Live
	t      *testing.T
	server *servertest.Server
	ctx    context.Context
	ns     string
}

func live(t *testing.T) *cluster {
	t.Helper()
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return &cluster{Live: c, t: t, server: p, ctx: ctx, ns: servertest.Namespace(t, p)}
}

// managed returns a Managed in the test's namespace.
func (c *cluster) managed(o cert.ManagedOptions) *cert.Managed {
	c.t.Helper()
	o.Namespace, o.Name = c.ns, "hook-cert"
	if o.IPs == nil {
		o.IPs = loopback
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := cert.NewManaged(c.Live, o)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// run runs a source until stop, or the end of the test.
func (c *cluster) run(s cert.Source) (stop func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				c.t.Errorf("Run: %v", err)
			}
		})
	}
	c.t.Cleanup(stop)
	return stop
}

// until waits until cond returns nil.
func (c *cluster) until(what string, cond func() error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Minute)
	defer cancel()
	for {
		err := cond()
		if err == nil {
			return
		}
		if run.Sleep(ctx, 20*time.Millisecond) != nil {
			c.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (c *cluster) inOrder(s cert.Source) {
	c.t.Helper()
	c.until("in order", func() error { return s.Check(c.ctx) })
}

// hook allows every admission review, with the certificates of its sources in turn.
type hook struct {
	sources []cert.Source
	turn    atomic.Int64
	calls   atomic.Int64

	mu             sync.Mutex
	serials, names map[string]bool // of the serving certificates, and of their CAs
}

func (h *hook) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, err := h.sources[int(h.turn.Add(1))%len(h.sources)].GetCertificate(nil)
	if err == nil {
		h.mu.Lock()
		h.serials[c.Leaf.SerialNumber.Text(16)] = true
		h.names[c.Leaf.Issuer.CommonName] = true
		h.mu.Unlock()
	}
	return c, err
}

// served returns the number of certificates served since the last forget, and of their CAs.
func (h *hook) served() (certificates, cas int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.serials), len(h.names)
}

func (h *hook) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.serials)
	clear(h.names)
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.calls.Add(1)
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/once" {
		w.Header().Set("Connection", "close") // the next call needs a new handshake
	}
	_ = json.NewEncoder(w).Encode(review)
}

// listen serves the sources and returns the URL.
func (c *cluster) listen(sources ...cert.Source) (*hook, string) {
	c.t.Helper()
	h := &hook{sources: sources, serials: map[string]bool{}, names: map[string]bool{}}
	config := &tls.Config{GetCertificate: h.GetCertificate, MinVersion: tls.VersionTLS12}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	c.t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return h, "https://" + l.Addr().String()
}

// validating makes a configuration with the test's name. Its webhooks call the urls for the
// ConfigMaps of the test's namespace.
func (c *cluster) validating(urls ...string) string {
	c.t.Helper()
	name := "hook-" + c.ns
	w, err := client.Create(c.ctx, c.Live, c.configuration(name, urls))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		err := client.Delete(context.WithoutCancel(c.ctx), c.Live, w)
		if client.IgnoreNotFound(err) != nil {
			c.t.Error(err)
		}
	})
	return name
}

func (c *cluster) configuration(name string, urls []string) *registrationv1.ValidatingWebhookConfiguration {
	out := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i, u := range urls {
		out.Webhooks = append(out.Webhooks, registrationv1.ValidatingWebhook{
			Name: fmt.Sprintf("hook%d.example.com", i), AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      registrationv1.WebhookClientConfig{URL: &u},
			SideEffects:       new(registrationv1.SideEffectClassNone),
			FailurePolicy:     new(registrationv1.Fail),
			TimeoutSeconds:    new(int32(30)),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.ns}},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		})
	}
	return out
}

// call makes the API server call the webhooks.
func (c *cluster) call() error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, GenerateName: "x-"}}
	_, err := client.Create(c.ctx, c.Live, cm, client.DryRun{})
	return err
}

// works waits until the API server has the bundle.
func (c *cluster) works() {
	c.t.Helper()
	c.until("the webhook is called", c.call)
}

func (c *cluster) secret() *corev1.Secret {
	c.t.Helper()
	s, err := client.Get[corev1.Secret](c.ctx, c.Live, object.Key{Namespace: c.ns, Name: "hook-cert"})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// TestRotateUnderLoad rotates the CA and the serving certificate every 5 s, in three replicas that
// answer in turn. The API server calls 50 times a second, on kept connections and on some new ones.
// No call fails. Certificates are valid for much longer than they are used, and few calls wait at a time, so a busy
// machine only delays the test.
func TestRotateUnderLoad(t *testing.T) {
	tier.Audit(t, "rotates certificates by the real clock")
	const every = 10 * time.Second
	length, settle, rotate := 15*time.Second, time.Second, every/2
	if os.Getenv("FLYBALL_LONG") == "1" {
		length, settle, rotate = 2*time.Minute, 3*time.Second, every
	}
	c := live(t)
	name := "hook-" + c.ns
	var replicas []cert.Source
	for range 3 {
		m := c.managed(cert.ManagedOptions{
			Validating: []string{name}, Settle: settle,
			Validity: time.Hour, Rotate: rotate, CAValidity: time.Hour, CARotate: rotate,
		})
		replicas = append(replicas, m)
	}
	h, url := c.listen(replicas...)
	c.validating(url+"/kept", url+"/once")
	for _, r := range replicas {
		c.run(r)
	}
	for _, r := range replicas {
		<-r.Ready()
		c.inOrder(r)
	}
	c.works()

	h.forget()
	h.calls.Store(0)
	var wg sync.WaitGroup
	var failed, done atomic.Int64
	var slowest atomic.Int64
	begin := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	rotations := int(length/rotate) - 1
	room := make(chan struct{}, 8)
	for rotated := 0; time.Since(begin) < length || rotated < rotations && time.Since(begin) < 5*time.Minute; {
		<-tick.C
		certificates, cas := h.served()
		rotated = min(certificates, cas)
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			start := time.Now()
			err := c.call()
			done.Add(1)
			if d := int64(time.Since(start)); d > slowest.Load() {
				slowest.Store(d)
			}
			if err != nil && failed.Add(1) <= 5 {
				t.Errorf("after %v: %v", time.Since(begin).Round(time.Millisecond), err)
			}
		})
	}
	wg.Wait()
	var issued, founded, injected uint64
	for _, r := range replicas {
		s := r.Stats()
		issued, founded, injected = issued+s.Issued, founded+s.Founded, injected+s.Injected
	}
	certificates, cas := h.served()
	t.Logf("%v: %d calls (%d of webhooks), %d failed, slowest %v; %d serving certificates of %d CAs seen; issued %d, founded %d, injected %d",
		time.Since(begin).Round(time.Second), done.Load(), h.calls.Load(), failed.Load(), time.Duration(slowest.Load()).Round(time.Millisecond), certificates, cas, issued, founded, injected)
	if failed.Load() > 0 {
		t.Errorf("%d of %d calls failed", failed.Load(), done.Load())
	}
	if certificates < rotations || cas < rotations {
		t.Errorf("%d certificates of %d CAs were served, want at least %d", certificates, cas, rotations)
	}
	for i, r := range replicas {
		if err := r.Check(c.ctx); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
}
