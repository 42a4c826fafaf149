package flyball

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/webhook"
)

// A manager that was told to stop is not ready. Its webhooks answer until the drain ends, also from the cache.
// Controllers end before.
func TestWebhooksAnswerUntilTheDrainEnds(t *testing.T) {
	a := newAPI(t)
	a.put("pods", testobj.Pod("web/p", testobj.Labels("app=shop")))
	m := a.manager(t, Options{
		Probes:   Endpoint{Addr: "127.0.0.1:0"},
		Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)},
	})
	draining, heard := make(chan struct{}), make(chan struct{})
	m.life.Drained = func(stopped time.Time) {
		if stopped.IsZero() {
			t.Error("the time of the stop is not told")
		}
		close(draining)
		<-heard
	}
	if _, err := m.Cache().Open(t.Context(), &corev1.Pod{}, client.Selection{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	err := m.addRunner(t, func(ctx context.Context) error { <-ctx.Done(); close(ended); return nil })
	if err != nil {
		t.Fatal(err)
	}
	err = webhook.Validate[corev1.ConfigMap](m, webhook.ValidatorFuncs[corev1.ConfigMap]{
		Create: func(ctx context.Context, _ *corev1.ConfigMap) ([]string, error) {
			_, err := client.Get[corev1.Pod](ctx, m.Cache(), reconcile.Request{Namespace: "web", Name: "p"})
			return nil, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	changed := changes(m)
	stop := up(t, m)
	probes, path := m.Addrs().Probes.String(), webhook.ValidatePath(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	answered := func(when string) {
		t.Helper()
		if code, text := post(t, m, path, configMapReview); code != http.StatusOK || !strings.Contains(text, `"allowed":true`) {
			t.Errorf("%s: %d %s", when, code, text)
		}
	}
	ready(t, m, changed)
	if code, text := get(t, "http://"+probes+"/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, text)
	}
	answered("before the stop")

	result := make(chan error, 1)
	go func() { result <- stop() }()
	<-draining
	<-ended
	if code, text := get(t, "http://"+probes+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "manager failed: stops") {
		t.Errorf("readyz while it drains: %d %s", code, text)
	}
	if code, _ := get(t, "http://"+probes+"/livez"); code != http.StatusOK {
		t.Errorf("livez while it drains: %d", code)
	}
	answered("while it drains")
	close(heard)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// addRunner adds a function to the phase Lead.
func (m *Manager) addRunner(t *testing.T, f func(context.Context) error) error {
	t.Helper()
	_, err := m.Add(Lead, "acts", f)
	return err
}

// Answers after the stop close their connection, so that the next request reaches another replica.
func TestDrainClosesConnections(t *testing.T) {
	m := newAPI(t).manager(t, Options{Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)}})
	if err := m.Handle("/hello", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })); err != nil {
		t.Fatal(err)
	}
	draining, heard := make(chan struct{}), make(chan struct{})
	m.life.Drained = func(time.Time) { close(draining); <-heard }
	stop := up(t, m)
	c := insecure()
	defer c.CloseIdleConnections()
	closes := func() bool {
		t.Helper()
		r, err := c.Get("https://" + m.Addrs().Webhooks.String() + "/hello")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
		return r.Close
	}
	if closes() {
		t.Error("a connection is closed although nothing stops")
	}
	result := make(chan error, 1)
	go func() { result <- stop() }()
	<-draining
	if !closes() {
		t.Error("a connection stays although the manager stops")
	}
	close(heard)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestDrainByAddressAndOption(t *testing.T) {
	for _, tt := range []struct {
		addr  string
		drain time.Duration
		want  time.Duration
	}{
		{"", 0, 0},
		{"", time.Minute, 0},
		{"127.0.0.1:9443", 0, 0},
		{"[::1]:9443", 0, 0},
		{"localhost:9443", 0, 0},
		{"127.0.0.1:9443", time.Second, time.Second},
		{":9443", 0, 5 * time.Second},
		{"0.0.0.0:9443", 0, 5 * time.Second},
		{"example.org:9443", 0, 5 * time.Second},
		{":9443", time.Minute, time.Minute},
		{":9443", -1, 0},
	} {
		if got := (Webhooks{Addr: tt.addr, Drain: tt.drain}).drain(); got != tt.want {
			t.Errorf("%q with %v: %v, want %v", tt.addr, tt.drain, got, tt.want)
		}
	}
}

// There is no drain if the port could not be opened.
func TestNoDrainWithoutAPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	m := newAPI(t).manager(t, Options{Webhooks: Webhooks{Addr: taken.Addr().String(), CertDir: pair(t), Drain: time.Hour}})
	if err := m.Run(t.Context()); err == nil {
		t.Error("no error although the port is taken")
	}
}
