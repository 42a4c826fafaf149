package webhook_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
	. "github.com/flyball-io/flyball/webhook"
)

// logged records log output.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// served starts a server for the handlers. It returns a function that gives the client
// configuration of each handler, for the API server.
func served(t *testing.T, handlers ...*Endpoint) func(e *Endpoint) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	mux := http.NewServeMux()
	for _, e := range handlers {
		mux.Handle(e.Path(), e)
	}
	srv := httptest.NewTLSServer(mux)
	t.Cleanup(srv.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	return func(e *Endpoint) admissionregistrationv1.WebhookClientConfig {
		url := srv.URL + e.Path()
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
	}
}

func TestAPIServerObeysTheVerdicts(t *testing.T) {
	var dry, real atomic.Int64 // validated creations
	defaulter := must(NewDefaulter[thing](things(), Defaulter[thing](func(_ context.Context, o *thing) error {
		if o.Name == "panic" {
			panic("at once")
		}
		if o.Spec.Text == "" {
			o.Spec.Text = "default"
		}
		if len(o.Spec.Items) > 1 && o.Spec.Items[0].Name == "b" {
			o.Spec.Items[0], o.Spec.Items[1] = o.Spec.Items[1], o.Spec.Items[0]
		}
		return nil
	}), quiet()))(t)
	validator := must(NewValidator[thing](things(), ValidatorFuncs[thing]{
		Create: func(ctx context.Context, o *thing) ([]string, error) {
			if RequestFrom(ctx).DryRun {
				dry.Add(1)
			} else {
				real.Add(1)
			}
			if o.Spec.Zero > 10 {
				return nil, field.Invalid(field.NewPath("spec", "zero"), o.Spec.Zero, "at most 10")
			}
			if o.Spec.Zero == 10 {
				return []string{"ten is much"}, nil
			}
			return nil, nil
		},
		Update: func(_ context.Context, old, o *thing) ([]string, error) {
			if old.Spec.Text != o.Spec.Text {
				return nil, field.Forbidden(field.NewPath("spec", "text"), "is immutable")
			}
			return nil, nil
		},
		Delete: func(_ context.Context, o *thing) ([]string, error) {
			if o.Annotations["protected"] == "true" {
				return nil, errors.New("it is protected")
			}
			return nil, nil
		},
	}, quiet()))(t)
	at := served(t, defaulter, validator)

	p := servertest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	log := &logged{}
	c := livetest.Client(t, p, client.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	ns := servertest.Namespace(t, p)
	livetest.Define(t, c, testobj.CRD(thingKind, "things", func(spec map[string]any) {
		spec["versions"].([]any)[0].(map[string]any)["subresources"] = map[string]any{"status": map[string]any{}}
	}))

	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"flyball.test"}, APIVersions: []string{"v1"}, Resources: []string{"things", "things/status"}},
	}}
	versions := []string{"v1", "v1beta1"}
	remove := func(o object.Object) {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			if err := client.Delete(ctx, c, o); err != nil {
				t.Error(err)
			}
		})
	}
	remove(must(client.Create(ctx, c, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "things"}, Webhooks: []admissionregistrationv1.MutatingWebhook{
		{Name: "default.flyball.test", ClientConfig: at(defaulter), Rules: rules, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: versions},
	}}))(t))
	remove(must(client.Create(ctx, c, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "things"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "validate.flyball.test", ClientConfig: at(validator), Rules: rules, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: versions},
	}}))(t))

	thing := func(name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "flyball.test/v1", "kind": "Thing", "metadata": map[string]any{"name": name, "namespace": ns}, "spec": spec}}
	}
	for i := 0; dry.Load() == 0; i++ { // until the server knows both
		o, err := client.Create(ctx, c, thing("probe", map[string]any{}), client.DryRun{})
		if err != nil {
			t.Fatal(err)
		}
		if s, _, _ := unstructured.NestedString(o.Object, "spec", "text"); s != "default" {
			dry.Store(0)
		}
	}

	made := must(client.Create(ctx, c, thing("a", map[string]any{"unknown": map[string]any{"x": "y"}, "zero": int64(10), "items": []any{
		map[string]any{"name": "b", "extra": "of b"}, map[string]any{"name": "a", "extra": "of a"}}})))(t)
	read := must(client.Get[unstructured.Unstructured](ctx, c, object.KeyOf(made), client.OfKind(thingKind)))(t)
	if got := fmt.Sprint(read.Object["spec"]); got != "map[items:[map[extra:of a name:a] map[extra:of b name:b]] text:default unknown:map[x:y] zero:10]" {
		t.Errorf("stored is %v", got)
	}
	if _, has := read.Object["status"]; has || real.Load() != 1 {
		t.Errorf("stored is %v, validated %d", read.Object, real.Load())
	}
	if !strings.Contains(log.String(), "ten is much") {
		t.Error("the warning did not arrive")
	}

	_, err := client.Create(ctx, c, thing("big", map[string]any{"zero": int64(11)}))
	invalid, ok := errors.AsType[*client.InvalidError](err)
	if !ok || len(invalid.Fields) != 1 || invalid.Fields[0].Field != "spec.zero" || !strings.Contains(err.Error(), "at most 10") {
		t.Errorf("invalid: %v", err)
	}
	changed := read.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "else", "spec", "text"); err != nil {
		t.Fatal(err)
	}
	if _, err = client.Update(ctx, c, changed); err == nil || !strings.Contains(err.Error(), "is immutable") {
		t.Errorf("immutable: %v", err)
	}
	if _, err = client.PatchStatus(ctx, c, read, client.MergePatch(`{"status":{"phase":"New"}}`)); err != nil {
		t.Errorf("status: %v", err)
	}
	if _, err = client.Patch(ctx, c, read, client.MergePatch(`{"metadata":{"annotations":{"protected":"true"}}}`)); err != nil {
		t.Error(err)
	}
	err = client.Delete(ctx, c, read)
	if f, ok := errors.AsType[*client.ForbiddenError](err); !ok || !strings.Contains(f.Error(), "it is protected") {
		t.Errorf("protected: %v", err)
	}
	if _, err = client.Patch(ctx, c, read, client.MergePatch(`{"metadata":{"annotations":null}}`)); err != nil {
		t.Error(err)
	}
	if err = client.Delete(ctx, c, read); err != nil {
		t.Error(err)
	}
	// A failing webhook gives a reason, and the reason reaches the client.
	if _, err = client.Create(ctx, c, thing("panic", nil)); err == nil || !strings.Contains(err.Error(), "the webhook panicked") {
		t.Errorf("panic: %v", err)
	}
}
