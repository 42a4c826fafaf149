package apiserver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/apiserver"
)

// twoVersions is a definition whose preferred version is not the stored one, and whose webhook does not run.
var twoVersions = strings.NewReplacer("  versions:\n", `  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}}
  versions:
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`).Replace(toyCRD)

// Objects whose kind has a conversion webhook are read in the version in which they are stored: nothing has to run.
func TestStateOfConvertedKinds(t *testing.T) {
	one := apiserver.Start(t, apiserver.Options{CRDs: folder(t, map[string]string{"a.yaml": twoVersions})})
	if code, text := ask(t, one, "POST", "/apis/example.com/v1/namespaces/default/toys", `{"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"a"},"spec":{"color":"red"}}`); code != 201 {
		t.Fatal(code, text)
	}
	for _, stored := range []string{"v1", "v2"} {
		if stored == "v2" { // the object stays as it was
			_, definition := ask(t, one, "GET", definitions+"/toys.example.com", "")
			swapped := strings.NewReplacer(`"storage":true`, `"storage":false`, `"storage":false`, `"storage":true`).Replace(definition)
			if code, text := ask(t, one, "PUT", definitions+"/toys.example.com", swapped); code != 200 {
				t.Fatal(code, text)
			}
		}
		text := export(t, one)
		if !strings.Contains(text, "\napiVersion: example.com/v1\n") {
			t.Fatalf("there is no toy in %s", text)
		}
		two := apiserver.Start(t, apiserver.Options{})
		if err := two.Import(strings.NewReader(text)); err != nil {
			t.Fatalf("%s is stored: %v", stored, err)
		}
		if d := cmp.Diff(text, export(t, two)); d != "" {
			t.Errorf("%s is stored: the second export differs (-first +second):\n%s", stored, d)
		}
	}
}
