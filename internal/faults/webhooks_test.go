package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
	"github.com/flyball-io/flyball/webhook"
)

// hooks is a manager with webhooks, and the ConfigMaps that it reconciles.
type hooks struct {
	*flyball.Manager
	ns   string
	seen chan string
}

func newHooks(t *testing.T, cfg *rest.Config, ns string, o cert.ManagedOptions) *hooks {
	t.Helper()
	o.Namespace, o.Name = ns, "hook-cert"
	o.IPs, o.Settle = []net.IP{net.IPv4(127, 0, 0, 1)}, -1
	m, err := flyball.New(flyball.Options{
		Name: "hooks", Config: cfg, Cache: cache.Options{Namespaces: []string{ns}},
		Webhooks: flyball.Webhooks{Addr: "127.0.0.1:0", Managed: o},
		Logger:   slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	must(t, err)
	h := &hooks{Manager: m, ns: ns, seen: make(chan string, 1000)}
	_, err = controller.New(m, "others", func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		h.seen <- req.Name
		return reconcile.Result{}, nil
	}, controller.For[corev1.ConfigMap]())
	must(t, err)
	return h
}

// url returns the URL of a path, once the server listens.
func (h *hooks) url(t *testing.T, path string) string {
	t.Helper()
	h.await(t, "listening", func() bool { return h.Addrs().Webhooks != nil })
	return "https://" + h.Addrs().Webhooks.String() + path
}

func (h *hooks) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	if !newChanges().await(ctx, is) {
		t.Fatalf("%s: not in time; ready: %v", what, h.Ready().Err(t.Context()))
	}
}

func (h *hooks) create(t *testing.T, name string) error {
	_, err := client.Create(t.Context(), h.Live(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: name}})
	return err
}

// figure returns the sum of a metric over its labels.
func (h *hooks) figure(t *testing.T, name string) (sum float64) {
	t.Helper()
	all, err := h.Gatherer().Gather()
	must(t, err)
	for _, f := range all {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// Faults 22 and 31: a webhook panics for one object, and takes too long for another. Both calls
// fail, and the late handler is cancelled. Nothing accumulates, and all other calls succeed.
func TestFault22And31WebhookPanicsAndIsLate(t *testing.T) {
	tier.Audit(t, "serves webhooks on a port, and waits for them by the real clock")
	parallel(t)
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	h := newHooks(t, p.RESTConfig(), ns, cert.ManagedOptions{Validating: []string{"faults-" + ns}})
	var cancelled atomic.Int32
	must(t, webhook.Validate[corev1.ConfigMap](h.Manager, webhook.ValidatorFuncs[corev1.ConfigMap]{
		Create: func(ctx context.Context, o *corev1.ConfigMap) ([]string, error) {
			switch {
			case strings.HasPrefix(o.Name, "poison"):
				panic("by " + o.Name)
			case strings.HasPrefix(o.Name, "late"):
				<-ctx.Done()
				cancelled.Add(1)
				return nil, ctx.Err()
			}
			return nil, nil
		},
	}))
	running(t, h.Manager)
	url := h.url(t, webhook.ValidatePath(corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	calls := func(name string, seconds int32, when string) registrationv1.ValidatingWebhook {
		return registrationv1.ValidatingWebhook{
			Name: name + ".flyball.test", ClientConfig: registrationv1.WebhookClientConfig{URL: &url},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			MatchConditions:   []registrationv1.MatchCondition{{Name: name, Expression: when}},
			SideEffects:       new(registrationv1.SideEffectClassNone), TimeoutSeconds: &seconds,
			FailurePolicy: new(registrationv1.Fail), AdmissionReviewVersions: []string{"v1"},
		}
	}
	// The late ones cost the whole timeout. A good one may take long on a loaded machine.
	const late = "object.metadata.name.startsWith('late')"
	hook := &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "faults-" + ns},
		Webhooks:   []registrationv1.ValidatingWebhook{calls("late", 3, late), calls("others", 30, "!"+late)},
	}
	_, err := client.Create(t.Context(), h.Live(), hook)
	must(t, err)
	t.Cleanup(func() { client.Delete(context.Background(), dial(t, p.RESTConfig()), hook) })
	h.await(t, "the API server trusts the webhook", func() bool { return h.Ready().Err(t.Context()) == nil && h.create(t, "first") == nil })
	before, _ := measure(t)
	n := pick(100, 3)
	for i := range n {
		for _, bad := range []string{"poison", "late"} {
			if err := h.create(t, fmt.Sprint(bad, "-", i)); err == nil {
				t.Errorf("%s got through", bad)
			}
		}
		must(t, h.create(t, fmt.Sprint("good-", i)))
	}
	for want := fmt.Sprint("good-", n-1); <-h.seen != want; {
	}
	h.await(t, "the late ones end", func() bool { return cancelled.Load() == int32(n) })
	if got := h.figure(t, "controller_runtime_webhook_panics_total"); got != float64(n) {
		t.Errorf("%v panics, want %d", got, n)
	}
	if got := h.figure(t, "flyball_webhook_overdue_handlers"); got != 0 {
		t.Errorf("%v handlers still run", got)
	}
	if after, _ := measure(t); after > before+20 {
		t.Errorf("goroutines %d → %d", before, after)
	}
}

// Fault 25: the conversion webhook of a kind is down. The program reports that kind as degraded,
// and another kind runs. When the webhook is back, so is the kind.
func TestFault25ConversionWebhookDown(t *testing.T) {
	tier.Audit(t, "serves webhooks on a port, and waits for them by the real clock")
	parallel(t)
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	gvk, crd := custom("planets", "Planet")
	name := crd.GetName()
	v1 := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	v2 := crd.DeepCopy().Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	v2["name"], v2["storage"] = "v2", false
	must(t, unstructured.SetNestedSlice(crd.Object, []any{v1, v2}, "spec", "versions"))
	down := "https://127.0.0.1:1/convert"
	must(t, unstructured.SetNestedMap(crd.Object, conversion(down), "spec", "conversion"))
	c := dial(t, p.RESTConfig())
	_, err := client.Create(t.Context(), c, crd.DeepCopy())
	must(t, err)
	t.Cleanup(func() { client.Delete(context.Background(), c, crd) })
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	if !newChanges().await(ctx, func() bool { // stored as v1: no conversion
		_, err = client.Create(ctx, c, instance(gvk, ns, "earth", nil))
		return err == nil
	}) {
		t.Fatal(err)
	}

	gvk.Version = "v2"
	h := newHooks(t, p.RESTConfig(), ns, cert.ManagedOptions{CRDs: []string{name}})
	must(t, h.HandleConversion("/convert", http.HandlerFunc(convertNothing)))
	planets := make(chan string, 1000)
	_, err = controller.New(h.Manager, "planets", func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		_, err := client.Get[unstructured.Unstructured](ctx, h.Client(), req, client.OfKind(gvk))
		if err == nil {
			planets <- req.Name
		}
		return reconcile.Result{}, err
	}, controller.ForKind[unstructured.Unstructured](gvk))
	must(t, err)
	running(t, h.Manager)
	must(t, h.create(t, "beside"))
	for <-h.seen != "beside" {
	}
	h.await(t, "it says why", func() bool {
		for _, w := range h.Cache().Watches() {
			if w.Kind.GVK == gvk && w.State.Err != nil {
				return strings.Contains(w.State.Err.Error(), "conversion webhook")
			}
		}
		return false
	})
	// The program converts the kind itself, so the kind must not keep it from being ready: see ADR
	// 17.
	h.await(t, "the rest is in order", func() bool { return h.Ready().Err(t.Context()) == nil })
	if len(planets) != 0 {
		t.Error("reconciled what cannot be read")
	}

	stored, err := client.Get[unstructured.Unstructured](t.Context(), c, object.Key{Name: name}, client.OfKind(crd.GroupVersionKind()))
	must(t, err)
	repaired := stored.DeepCopy()
	must(t, unstructured.SetNestedMap(repaired.Object, conversion(h.url(t, "/convert")), "spec", "conversion"))
	_, err = client.Patch(t.Context(), c, repaired, client.Diff(stored, repaired))
	must(t, err)
	for <-planets != "earth" {
	}
	h.await(t, "all is in order", func() bool { return h.Ready().Err(t.Context()) == nil })
}

func conversion(url string) map[string]any {
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": url},
	}}
}

// convertNothing answers with the same objects in the requested version.
func convertNothing(w http.ResponseWriter, r *http.Request) {
	var review struct {
		metav1.TypeMeta
		Request struct {
			UID               string                      `json:"uid"`
			DesiredAPIVersion string                      `json:"desiredAPIVersion"`
			Objects           []unstructured.Unstructured `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	objects := []any{}
	for _, o := range review.Request.Objects {
		o.SetAPIVersion(review.Request.DesiredAPIVersion)
		objects = append(objects, o.Object)
	}
	w.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": review.APIVersion, "kind": review.Kind,
		"response": map[string]any{"uid": review.Request.UID, "convertedObjects": objects, "result": map[string]any{"status": "Success"}},
	})
	if err != nil {
		panic(errors.Join(http.ErrAbortHandler, err))
	}
}
