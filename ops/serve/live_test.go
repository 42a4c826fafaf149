package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/test/servertest"
)

// The API server decides who may read. Three service accounts ask: one with a ClusterRole for the
// path, one without, and one whose token has another audience.
func TestAPIServerDecidesWhoMayRead(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := livetest.Client(t, p, client.Options{})

	token := func(account string, audiences ...string) string {
		t.Helper()
		got, err := client.CreateSub(ctx, c, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: account}}, "token",
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}})
		if err != nil {
			t.Fatal(err)
		}
		return got.Status.Token
	}
	for _, name := range []string{"scraper", "stranger"} {
		if _, err := client.Create(ctx, c, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-scraper"},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "scraper"}}}
	if _, err := client.Create(ctx, c, role); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(ctx, c, binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Delete(context.Background(), c, binding)
		_ = client.Delete(context.Background(), c, role)
	})

	_, addr, _ := started(t, serve.Options{Handler: serve.Authorized(c, ok, serve.AuthOptions{AllowFor: -1, DenyFor: -1, Logger: quiet})})
	b := browser(t, &http.Transport{})
	get := func(path, token string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	scraper := token("scraper")
	// The API server's authorizer learns of a new binding from its own watch.
	for get("/metrics", scraper) != 200 {
		if ctx.Err() != nil {
			t.Fatal("the binding has no effect")
		}
	}
	for name, tt := range map[string]struct {
		path, token string
		want        int
	}{
		"allowed":            {"/metrics", scraper, 200},
		"another path":       {"/debug/pprof/", scraper, 403},
		"no permission":      {"/metrics", token("stranger"), 403},
		"for somebody else":  {"/metrics", token("scraper", "vault"), 401},
		"a forged signature": {"/metrics", scraper[:len(scraper)-4] + "AAAA", 401},
		"nonsense":           {"/metrics", "nonsense", 401},
		"nobody":             {"/metrics", "", 401},
	} {
		if got := get(tt.path, tt.token); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}

	// A client without the permission for reviews lets nobody in.
	poor := livetest.Client(t, p, client.Options{})
	refused := poor.Fenced(func(call client.Call) error { return fmt.Errorf("no %s", call.Verb) })
	if w := ask(serve.Authorized(refused, ok, serve.AuthOptions{Logger: quiet}), "GET", "/metrics", "Bearer "+scraper); w.Code != 503 {
		t.Errorf("without a review: %d", w.Code)
	}
}
