package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

func userClient(t *testing.T, s *apiserver.Server, user string, groups ...string) *client.Live {
	t.Helper()
	return clientOf(t, configOf(t, s, user, groups...))
}

func configOf(t *testing.T, s *apiserver.Server, user string, groups ...string) *rest.Config {
	t.Helper()
	config, err := s.UserConfig(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func clientOf(t *testing.T, config *rest.Config) *client.Live {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// whoami returns the user whom the server knows a client as.
func whoami(t *testing.T, config *rest.Config) string {
	t.Helper()
	review, err := client.Create(t.Context(), clientOf(t, config), &authenticationv1.SelfSubjectReview{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(review.Status.UserInfo.Username, review.Status.UserInfo.Groups)
}

// The users of configurations and kubeconfigs are those that the server sees, with TLS and without, with a port
// and in memory.
func TestUsers(t *testing.T) {
	for name, o := range map[string]apiserver.Options{
		"plain": {}, "TLS": {TLS: true}, "RBAC": {RBAC: true}, "TLS in memory": {TLS: true, InMemory: true}, "plain in memory": {InMemory: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := apiserver.Start(t, o)
			if got, want := whoami(t, s.RESTConfig()), "admin[system:masters system:authenticated]"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			config, err := s.UserConfig("eve", "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			const eve = "eve[a b system:authenticated]"
			if got := whoami(t, config); got != eve {
				t.Errorf("got %s, want %s", got, eve)
			}
			text, err := s.UserKubeconfig("eve", "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			if config, err = clientcmd.RESTConfigFromKubeConfig(text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if config.Dial = s.RESTConfig().Dial; whoami(t, config) != eve {
				t.Errorf("the kubeconfig is that of %s, want %s", whoami(t, config), eve)
			}
		})
	}
}

// Who shows no credentials is an administrator of a plain server, nobody with TLS, and anonymous with RBAC.
func TestNobody(t *testing.T) {
	for _, c := range []struct {
		name    string
		options apiserver.Options
		code    int
	}{{"plain", apiserver.Options{}, 200}, {"TLS", apiserver.Options{TLS: true}, 401}, {"RBAC", apiserver.Options{RBAC: true}, 403}} {
		t.Run(c.name, func(t *testing.T) {
			s := apiserver.Start(t, c.options)
			resp, err := httpClient(t, rest.AnonymousClientConfig(s.RESTConfig())).Get(s.URL() + "/api/v1/namespaces")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.code {
				t.Errorf("got %d, want %d", resp.StatusCode, c.code)
			}
		})
	}
}

// With TLS clients speak HTTP/2, and a restart cuts their connections.
func TestHTTP2(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{TLS: true})
	c := httpClient(t, s.RESTConfig())
	get := func() (*http.Response, error) { return c.Get(s.URL() + "/api/v1/configmaps?watch=true") }
	resp, err := get()
	if err != nil {
		t.Fatal(err)
	}
	if resp.ProtoMajor != 2 {
		t.Errorf("protocol %s, want HTTP/2", resp.Proto)
	}
	s.Restart()
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("the watch has survived a restart")
	}
	resp.Body.Close()
	again, err := get()
	if err != nil {
		t.Fatal(err)
	}
	again.Body.Close()
}

// A server with TLS and RBAC lives in a bubble, with a user and a token that expires after hours.
func TestAccessInABubble(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := apiserver.Start(t, apiserver.Options{RBAC: true, InMemory: true})
		admin := clientOf(t, s.RESTConfig())
		account, err := client.Create(ctx, admin, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Create(ctx, admin, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "robot"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "robot"}}}); err != nil {
			t.Fatal(err)
		}
		robot := rest.AnonymousClientConfig(s.RESTConfig())
		robot.BearerToken = token(t, s, account)
		c := clientOf(t, robot)
		if err := list(ctx, c); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour) // virtual
		if err := list(ctx, c); !apierrors.IsUnauthorized(err) {
			t.Errorf("two hours later: %v, want Unauthorized", err)
		}
		if err := list(ctx, userClient(t, s, "eve")); !apierrors.IsForbidden(err) {
			t.Errorf("eve: %v, want Forbidden", err)
		}
	})
}

// list lists the ConfigMaps of all namespaces.
func list(ctx context.Context, c *client.Live) error {
	for _, err := range client.List[corev1.ConfigMap](ctx, c) {
		if err != nil {
			return err
		}
	}
	return nil
}

// token asks for a token of a service account.
func token(t *testing.T, s *apiserver.Server, account *corev1.ServiceAccount) string {
	t.Helper()
	path := s.URL() + "/api/v1/namespaces/" + account.Namespace + "/serviceaccounts/" + account.Name + "/token"
	resp, err := httpClient(t, s.RESTConfig()).Post(path, "application/json", strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct {
		Status authenticationv1.TokenRequestStatus
	}
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Status.Token == "" {
		t.Fatalf("%d %+v %v", resp.StatusCode, made, err)
	}
	return made.Status.Token
}

// A token makes the user on a plain server, too, and one that is wrong is refused.
func TestTokenWithoutTLS(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	account, err := client.Create(t.Context(), newClient(t, s), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}})
	if err != nil {
		t.Fatal(err)
	}
	config := s.RESTConfig()
	config.BearerToken = token(t, s, account)
	if got, want := whoami(t, config), "system:serviceaccount:default:robot[system:serviceaccounts system:serviceaccounts:default system:authenticated]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	snap := s.Snapshot()
	if err := client.Delete(t.Context(), newClient(t, s), account); err != nil {
		t.Fatal(err)
	}
	if err := list(t.Context(), clientOf(t, config)); !apierrors.IsUnauthorized(err) {
		t.Errorf("after the account: %v, want Unauthorized", err)
	}
	s.Restore(snap)
	if err := list(t.Context(), clientOf(t, config)); err != nil {
		t.Errorf("with the account back: %v", err)
	}
}

// Two servers of one seed give the same tokens and certificates, those of another seed others.
func TestTokensComeFromTheSeed(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	of := func(seed string) string {
		s := apiserver.Start(t, apiserver.Options{Seed: seed, TLS: true, Now: func() time.Time { return at }})
		account, err := client.Create(t.Context(), newClient(t, s), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}})
		if err != nil {
			t.Fatal(err)
		}
		return token(t, s, account) + string(s.Kubeconfig()[bytes.Index(s.Kubeconfig(), []byte("client-certificate-data")):])
	}
	a, again := of("a"), of("a")
	if a != again {
		t.Error("one seed gives two tokens")
	}
	if a == of("b") {
		t.Error("two seeds give one token")
	}
}

// Rules are about the user that the server sees, whether that has a certificate or is impersonated.
func TestFaultsByUser(t *testing.T) {
	for name, o := range map[string]apiserver.Options{"plain": {}, "RBAC": {RBAC: true}} {
		t.Run(name, func(t *testing.T) {
			s := apiserver.Start(t, o)
			f := s.Fail(apiserver.On("list", "configmaps").By("eve"), apiserver.TooManyRequests(time.Second))
			if err := list(t.Context(), newClient(t, s)); err != nil {
				t.Errorf("the administrator: %v", err)
			}
			config, err := s.UserConfig("eve", "system:masters")
			if err != nil {
				t.Fatal(err)
			}
			resp, err := httpClient(t, config).Get(s.URL() + "/api/v1/configmaps")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusTooManyRequests || f.Count() != 1 {
				t.Errorf("eve got %d, the rule matched %d times", resp.StatusCode, f.Count())
			}
		})
	}
}

// What roles allow shows at once: decisions are forgotten when roles change, and when the state is restored.
func TestRolesShowAtOnce(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{RBAC: true})
	admin, eve := newClient(t, s), userClient(t, s, "eve")
	may := func(want bool) {
		t.Helper()
		if err := list(t.Context(), eve); want != (err == nil) || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("got %v, want allowed: %v", err, want)
		}
	}
	may(false)
	before := s.Snapshot()
	bound, err := client.Create(t.Context(), admin, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "eve"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "eve"}}})
	if err != nil {
		t.Fatal(err)
	}
	may(true)
	after := s.Snapshot()
	s.Restore(before)
	may(false)
	s.Restore(after)
	may(true)
	if err := client.Delete(t.Context(), admin, bound); err != nil {
		t.Fatal(err)
	}
	may(false)
}

// With RBAC StatefulSets have Pods, and the roles that aggregate others have rules.
func TestAggregatedRoles(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{RBAC: true, Controllers: []string{"*"}})
	admin := newClient(t, s)
	labels := map[string]string{"app": "a"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
	if _, err := client.Create(t.Context(), admin, set); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	view, err := client.Get[rbacv1.ClusterRole](t.Context(), admin, object.Key{Name: "view"})
	if err != nil || len(view.Rules) == 0 {
		t.Errorf("the role view has %d rules: %v", len(view.Rules), err)
	}
	pods := 0
	for _, err := range client.List[corev1.Pod](t.Context(), admin) {
		if err != nil {
			t.Fatal(err)
		}
		pods++
	}
	if pods == 0 {
		t.Error("there are no Pods")
	}
}

// A state from a file gets the roles that it lacks.
func TestStateWithRBAC(t *testing.T) {
	plain := apiserver.Start(t, apiserver.Options{})
	if _, err := client.Create(t.Context(), newClient(t, plain), configMap("a", "1")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.yaml")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(plain.Export(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	s := apiserver.Start(t, apiserver.Options{RBAC: true, State: file})
	if got := whoami(t, configOf(t, s, "eve")); got != "eve[system:authenticated]" { // by a role
		t.Error(got)
	}
	n := 0
	for _, err := range client.List[corev1.ConfigMap](t.Context(), newClient(t, s)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d ConfigMaps, want that of the file", n)
	}
}
