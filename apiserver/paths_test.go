package apiserver_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
)

// marker is in all that the user of the test may not read.
const marker = "only-for-others"

// Whatever the method and the path are, a user with few rights reads nothing and changes nothing beyond them. Eve may do
// all to Pods of one namespace, and ask for all paths that name no resource.
func TestPathsAndMethodsGrantNothing(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{RBAC: true})
	admin := clientOf(t, s.RESTConfig())
	for _, o := range []any{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", Labels: map[string]string{"x": marker}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "s", Labels: map[string]string{"x": marker}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "c", Labels: map[string]string{"x": marker}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}, Data: map[string]string{"x": marker}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pods"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"*"}}}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pods"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "eve"}}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "paths"}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "paths"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "paths"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "eve"}}},
	} {
		var err error
		switch o := o.(type) {
		case *corev1.Secret:
			_, err = client.Create(t.Context(), admin, o)
		case *corev1.ConfigMap:
			_, err = client.Create(t.Context(), admin, o)
		case *rbacv1.Role:
			_, err = client.Create(t.Context(), admin, o)
		case *rbacv1.RoleBinding:
			_, err = client.Create(t.Context(), admin, o)
		case *rbacv1.ClusterRole:
			_, err = client.Create(t.Context(), admin, o)
		case *rbacv1.ClusterRoleBinding:
			_, err = client.Create(t.Context(), admin, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	eve, err := s.UserConfig("eve")
	if err != nil {
		t.Fatal(err)
	}
	raw := newRawClient(t, s, eve)
	if code, _ := raw.do(t, "GET", "/api/v1/namespaces/default/pods", nil); code != http.StatusOK {
		t.Fatalf("what eve may do: %d", code)
	}
	calls := 1000
	if os.Getenv("FLYBALL_LONG") != "" {
		calls = 100_000
	}
	before := others(t, s)
	r := rand.New(rand.NewPCG(1, uint64(calls)))
	codes := map[int]int{}
	for range calls {
		method, path, body := oddCall(r)
		code, answer := raw.do(t, method, path, body)
		codes[code/100]++
		if bytes.Contains(answer, []byte(marker)) {
			t.Errorf("%s %s shows what eve may not read: %d %.300s", method, path, code, answer)
		}
	}
	if diff := cmp.Diff(before, others(t, s)); diff != "" {
		t.Errorf("eve has changed what she may not (-before +after):\n%s", diff)
	}
	last := s.Snapshot().Version()
	for p, err := range client.List[corev1.Pod](t.Context(), admin) {
		if err != nil {
			t.Fatal(err)
		}
		if v, err := strconv.ParseUint(p.ResourceVersion, 10, 64); err != nil || v > last || len(p.Spec.Containers) == 0 || p.UID == "u" {
			t.Errorf("a Pod that no server stores: %s/%s, uid %s, version %s of %d, %d containers", p.Namespace, p.Name, p.UID, p.ResourceVersion, last, len(p.Spec.Containers))
		}
	}
	if codes[4] == 0 || codes[2] == 0 {
		t.Errorf("answers by class: %v: the calls are of one sort", codes)
	}
}

// others returns all objects of a server but the Pods that eve may change.
func others(t *testing.T, s *apiserver.Server) (out []string) {
	t.Helper()
	var text strings.Builder
	if err := s.Export(&text); err != nil {
		t.Fatal(err)
	}
	for i, object := range strings.Split(text.String(), "\n---\n") {
		if i > 0 && !(strings.Contains(object, "\nkind: Pod\n") && strings.Contains(object, "\n  namespace: default\n")) {
			out = append(out, object)
		}
	}
	return out
}

// oddCall returns a call that a client of good will would not make.
func oddCall(r *rand.Rand) (method, path string, body []byte) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	method = pick("GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "RESTORE", "PROTOCOL", "get", "LIST", "WATCH", "M-SEARCH", "PROPFIND", "Restore")
	resource := pick("secrets", "configmaps", "pods", "secrets/s", "configmaps/c", "pods/p", "pods/p/exec", "secrets/s/status", "serviceaccounts/default/token")
	space := pick("", "namespaces/default/", "namespaces/kube-system/", "namespaces//", "namespaces/./")
	root := pick("api/v1/", "api/v1/", "api/v1/", "apis//v1/", "apis/v1/", "api//v1/", "api/v1beta1/")
	special := pick("", "", "", "", "watch/", "proxy/", "watch/watch/", "redirect/")
	path = pick("/", "/", "/", "/", "//", "///", "//x/", "/./", "/../", "/x/../", "http://x/", "http://127.0.0.1/", "//127.0.0.1/", "/%2f") + root + special + space + resource
	switch r.IntN(8) {
	case 0:
		path = strings.Replace(path, "/", pick("//", "/./", "%2f", "%2F", "/%2e%2e/", "/x/../", "\\", ";/", "/%00/"), 1+r.IntN(2))
	case 1:
		path += pick("/", "//", "/.", "/..", "%20", "%2f", "#x", ";x", ".json")
	case 2:
		path = strings.ToUpper(path)
	case 3:
		path = pick("/", "/", "//x/") + "api/v1/namespaces/default/" + pick("pods", "secrets") // the first is allowed
	}
	path += pick("", "", "", "?watch=1&timeoutSeconds=1", "?fieldSelector=metadata.name%3Ds", "?fieldSelector=metadata.namespace%3Ddefault", "?namespace=default", "?limit=1",
		"?resourceVersion=0", "?fieldValidation=Strict", "?dryRun=All", "?x=%zz&watch=1&timeoutSeconds=1", "?;watch=1", "?pretty=1", "?as=x")
	if method != "GET" && method != "HEAD" && r.IntN(4) > 0 {
		kind := pick("Pod", "Secret", "ConfigMap")
		body = fmt.Appendf(nil, `{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":%q,"resourceVersion":%q,"uid":"u"}}`,
			kind, pick("p", "s", "c", "new"), pick("default", "kube-system", ""), pick("", "1", "18446744073709551615"))
	}
	return method, path, body
}

// rawClient sends request lines as they are.
type rawClient struct {
	address string
	tls     *tls.Config
	conn    net.Conn
	reader  *bufio.Reader
}

func newRawClient(t *testing.T, s *apiserver.Server, config *rest.Config) *rawClient {
	t.Helper()
	of, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	of.NextProtos = []string{"http/1.1"}
	c := &rawClient{address: strings.TrimPrefix(s.URL(), "https://"), tls: of}
	t.Cleanup(c.close)
	return c
}

func (c *rawClient) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// do sends a request and returns the code and the body of the answer. What is no answer has code 0.
func (c *rawClient) do(t *testing.T, method, target string, body []byte) (code int, answer []byte) {
	t.Helper()
	if c.conn == nil {
		conn, err := tls.Dial("tcp", c.address, c.tls)
		if err != nil {
			t.Fatal(err)
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	if err := c.conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c.conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, target, c.address, len(body), body)
	req, err := http.NewRequest(method, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.reader, req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	answer, err = io.ReadAll(resp.Body)
	if err != nil || resp.Close {
		c.close()
	}
	return resp.StatusCode, answer
}
