package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/scheme"
	. "github.com/flyball-io/flyball/webhook"
)

// sink is a ResponseWriter that discards the answer.
type sink struct {
	header http.Header
	code   int
	n      int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }

// reviewOf returns a review of a Deployment of typical size.
func reviewOf(b *testing.B, op string) []byte {
	b.Helper()
	replicas := int32(3)
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", Labels: map[string]string{"app": "web", "tier": "front"}},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	for i := range 3 {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: "registry.example.com/web:1.2.3", Args: []string{"--port", "8080"},
			Env:       []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		})
	}
	raw, err := json.Marshal(d)
	if err != nil {
		b.Fatal(err)
	}
	old := "null"
	if op == "UPDATE" {
		old = string(raw)
	}
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},"requestKind":{"group":"apps","version":"v1","kind":"Deployment"},"requestResource":{"group":"apps","version":"v1","resource":"deployments"},"name":"web","namespace":"shop","operation":%q,"userInfo":{"username":"admin","uid":"014fbff9","groups":["system:authenticated","my-admin-group"],"extra":{"some-key":["v1","v2"]}},"object":%s,"oldObject":%s,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`, op, raw, old)
}

func run(b *testing.B, e *Endpoint, body []byte) {
	b.Helper()
	w := &sink{header: http.Header{}}
	src := bytes.NewReader(body)
	r := (&http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/", RawQuery: "timeout=10s"}, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(src)}).WithContext(b.Context())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		src.Reset(body)
		e.ServeHTTP(w, r)
		if w.code != http.StatusOK {
			b.Fatal(w.code)
		}
	}
}

func BenchmarkDefaultChanged(b *testing.B) {
	e, err := NewDefaulter[appsv1.Deployment](scheme.New(), Defaulter[appsv1.Deployment](func(_ context.Context, d *appsv1.Deployment) error {
		d.Labels["managed"] = "yes"
		d.Spec.Template.Spec.Containers[1].ImagePullPolicy = corev1.PullAlways
		return nil
	}), quiet())
	if err != nil {
		b.Fatal(err)
	}
	run(b, e, reviewOf(b, "CREATE"))
}

func BenchmarkDefaultUnchanged(b *testing.B) {
	e, err := NewDefaulter[appsv1.Deployment](scheme.New(), Defaulter[appsv1.Deployment](func(context.Context, *appsv1.Deployment) error { return nil }), quiet())
	if err != nil {
		b.Fatal(err)
	}
	run(b, e, reviewOf(b, "CREATE"))
}

func BenchmarkValidateUpdate(b *testing.B) {
	e, err := NewValidator[appsv1.Deployment](scheme.New(), ValidatorFuncs[appsv1.Deployment]{
		Update: func(_ context.Context, old, d *appsv1.Deployment) ([]string, error) { return nil, nil },
	}, quiet())
	if err != nil {
		b.Fatal(err)
	}
	run(b, e, reviewOf(b, "UPDATE"))
}

func BenchmarkRawHandler(b *testing.B) {
	e, err := NewValidating(Handler(func(context.Context, *Request) (Response, error) { return Allowed(), nil }), Options{Name: "raw"})
	if err != nil {
		b.Fatal(err)
	}
	run(b, e, reviewOf(b, "CREATE"))
}
