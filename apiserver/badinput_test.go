package apiserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

// letters is a long body that is made while it is read.
type letters struct{ left int }

func (l *letters) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), l.left)
	for i := range n {
		b[i] = 'a'
	}
	l.left -= n
	return n, nil
}

// A body of 100 MB is refused, and the server holds no more of it than it may have.
func TestLargeBodies(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	for _, path := range []string{"/api/v1/namespaces/default/configmaps", "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/configmaps/a"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		method, kind := "POST", jsonType
		if strings.HasSuffix(path, "/a") {
			method, kind = "PATCH", mergePatch
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, io.MultiReader(strings.NewReader(`{"metadata":{"name":"`), &letters{100 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var status metav1.Status
		if json.Unmarshal(text, &status) != nil || err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge || status.Reason != metav1.StatusReasonRequestEntityTooLarge {
			t.Errorf("%s: %d %.300s, %v, want 413", path, resp.StatusCode, text, err)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; tier.InAudit() && grown > 64<<20 {
			t.Errorf("%s: %d MB were allocated", path, grown>>20)
		}
	}
	if code, text := ask(t, s, "GET", "/readyz", ""); code != http.StatusOK {
		t.Errorf("afterwards: %d %s", code, text)
	}
}
