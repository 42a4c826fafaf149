package operatortest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/rbac"
)

// TestRun runs a program without a Manager: it has the permissions of its roles and no others, its
// requests are recorded, and the API server calls its webhook, also after a restart.
func TestRun(t *testing.T) {
	tier.NotShort(t, "starts an API server")
	folder := t.TempDir()
	t.Setenv(rbac.FolderVariable, folder)
	t.Run("it", func(t *testing.T) {
		op := Start(t, Program{
			Config:  config(t),
			Options: func() (flyball.Options, error) { return flyball.Options{Name: "foreign"}, nil },
			Run:     serveWebhook,
		})
		if op.Manager != nil {
			t.Error("there is a Manager")
		}
		c, err := client.New(op.Config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := client.Get[corev1.Secret](t.Context(), c, object.Key{Namespace: op.Namespace, Name: "none"}); client.IgnoreNotFound(err) != nil {
			t.Errorf("a Secret, which the role allows: %v", err)
		}
		if _, err := client.Get[corev1.Pod](t.Context(), c, object.Key{Namespace: op.Namespace, Name: "none"}); !errors.As(err, new(*client.ForbiddenError)) {
			t.Errorf("a Pod, which no role allows: %v", err)
		}
		create := func(data map[string]string) error {
			_, err := client.Create(t.Context(), op.Client, &corev1.ConfigMap{Data: data, ObjectMeta: metav1.ObjectMeta{
				Namespace: op.Namespace, GenerateName: "x-", Labels: map[string]string{"replicas": "here"},
			}})
			return err
		}
		for range 2 {
			if err := create(nil); err != nil {
				t.Errorf("a good object: %v", err)
			}
			if err := create(map[string]string{"bad": "data"}); err == nil {
				t.Error("a bad object is accepted")
			}
			op.Restart(t, nil)
		}
	})
	rules, err := rbac.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := rbac.Of(rbac.Permission{Verb: "get", Resource: "secrets"}, rbac.Permission{Verb: "get", Resource: "pods"})
	if got := rules.Permissions(); !slices.Equal(got, want.Permissions()) {
		t.Errorf("recorded %v, want %v", got, want.Permissions())
	}
}

// serveWebhook refuses ConfigMaps with bad data.
func serveWebhook(ctx context.Context, op *Operator) error {
	srv := &http.Server{
		Addr: net.JoinHostPort(op.WebhookHost, strconv.Itoa(op.WebhookPort)),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review admissionv1.AdmissionReview
			var m corev1.ConfigMap
			body, err := io.ReadAll(r.Body)
			if err = errors.Join(err, json.Unmarshal(body, &review)); err == nil {
				err = json.Unmarshal(review.Request.Object.Raw, &m)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: m.Data["bad"] == ""}
			review.Request = nil
			_ = json.NewEncoder(w).Encode(review)
		}),
	}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.ListenAndServeTLS(filepath.Join(op.CertDir, "tls.crt"), filepath.Join(op.CertDir, "tls.key")); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func TestCallOf(t *testing.T) {
	for _, test := range []struct{ method, url, contentType, want string }{
		{"GET", "/api/v1/pods", "", "list pods"},
		{"GET", "/api/v1/namespaces/a/pods?limit=500", "", "list pods"},
		{"GET", "/api/v1/pods?watch=true&sendInitialEvents=true", "", "watch pods initial"},
		{"GET", "/api/v1/pods?watch=0", "", "list pods"},
		{"GET", "/api/v1/namespaces/a/pods/b", "", "get pods"},
		{"GET", "/api/v1/namespaces/a/pods/b/log", "", "get pods/log"},
		{"GET", "/api/v1/namespaces", "", "list namespaces"},
		{"GET", "/api/v1/namespaces/a", "", "get namespaces"},
		{"PUT", "/api/v1/namespaces/a/finalize", "", "update namespaces/finalize"},
		{"PUT", "/api/v1/namespaces/a/status", "", "update namespaces/status"},
		{"POST", "/apis/apps/v1/namespaces/a/deployments", "", "create deployments.apps"},
		{"PATCH", "/apis/apps/v1/namespaces/a/deployments/b", "application/merge-patch+json", "patch deployments.apps"},
		{"PATCH", "/apis/apps/v1/namespaces/a/deployments/b/status", "application/apply-patch+yaml", "apply deployments.apps/status"},
		{"DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/b", "", "delete clusterroles.rbac.authorization.k8s.io"},
		{"DELETE", "/proxy/prefix/apis/apps/v1/namespaces/a/deployments", "", "deletecollection deployments.apps"},
		{"GET", "/api", "", ""},
		{"GET", "/api/v1", "", ""},
		{"GET", "/apis", "", ""},
		{"GET", "/apis/apps/v1", "", ""},
		{"GET", "/version", "", ""},
		{"GET", "/openapi/v3/apis/apps/v1", "", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, "https://127.0.0.1"+test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", test.contentType)
		c := callOf(req)
		got := ""
		if c.Resource.Resource != "" {
			got = rbac.Permission{Verb: c.Verb, Group: c.Resource.Group, Resource: c.Resource.Resource}.String()
			if c.Subresource != "" {
				got += "/" + c.Subresource
			}
			if c.Initial {
				got += " initial"
			}
		}
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.method, test.url, got, test.want)
		}
	}
}
