package flyball

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/webhook"
)

const configMapReview = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"version":"v1","kind":"ConfigMap"},"resource":{"version":"v1","resource":"configmaps"},"name":"a","namespace":"ns","operation":"CREATE","userInfo":{},"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"}},"oldObject":null}}`

// post sends a review to a webhook of m.
func post(t *testing.T, m *Manager, path, body string) (int, string) {
	t.Helper()
	c := insecure()
	defer c.CloseIdleConnections()
	r, err := c.Post("https://"+m.Addrs().Webhooks.String()+path, "application/json", bytes.NewBufferString(body))
	return text(t, r, err)
}

// A validator whose cache has not synced has no verdict. The failurePolicy decides.
func TestUnsyncedCacheGivesNoVerdict(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.deny("pods", true)
	m := a.manager(t, Options{Webhooks: Webhooks{Addr: "127.0.0.1:0", CertDir: pair(t)}})
	if _, err := m.Cache().Open(t.Context(), &corev1.Pod{}, client.Selection{}); err != nil {
		t.Fatal(err)
	}
	err := webhook.Validate[corev1.ConfigMap](m, webhook.ValidatorFuncs[corev1.ConfigMap]{
		Create: func(ctx context.Context, _ *corev1.ConfigMap) ([]string, error) {
			for _, err := range client.List[corev1.Pod](ctx, m.Cache()) {
				if err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	up(t, m)
	path := webhook.ValidatePath(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if code, text := post(t, m, path, configMapReview); code != http.StatusInternalServerError || !strings.Contains(text, "not synced") {
		t.Errorf("%d %s, want 500 and no verdict", code, text)
	}
}
