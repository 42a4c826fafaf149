package apiserver

import (
	"net/http"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/shared"
)

// The hash of a template is that of Kubernetes 1.36. TestControllersAsTheRealOnes compares more hashes, with the real
// controllers.
func TestTemplateHash(t *testing.T) {
	ask, err := shared.Ask(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	state := core.New(core.Options{Rules: core.Rules(ask)})
	seen := map[string]bool{}
	zero, one := int32(0), int32(1)
	for _, collisions := range []*int32{nil, &zero, &one} {
		for _, template := range []string{`{}`, `{"spec":{"containers":[{"name":"a","image":"b","args":[]}]}}`} {
			hash, err := state.Now().TemplateHash([]byte(template), collisions)
			if err != nil || len(hash) < 6 {
				t.Fatalf("%s: %q, %v", template, hash, err)
			}
			seen[hash] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%v, want 6 different ones", seen)
	}
	if hash, err := state.Now().TemplateHash([]byte(`[]`), nil); err == nil {
		t.Errorf("a list has the hash %q", hash)
	}
	if a := state.Step(time.Now(), core.Request{Method: "POST", URL: "/flyball/template-hash", User: "admin", Body: []byte(`{}`)}); a.Code != http.StatusNotFound {
		t.Errorf("a client is answered %d", a.Code)
	}
}
