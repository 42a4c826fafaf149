package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/servertest"
)

// mistake is a field with markers. HERE stands where the message of the API server belongs.
type mistake struct{ name, field, types string }

// mistakes have those that an API server accepts among them. KIND makes the names of types unique.
var mistakes = []mistake{
	{name: "none", field: "// +kubebuilder:validation:MaxLength=9\nF string `json:\"f,omitempty\"`"},
	{name: "a rule that is right", field: "// +kubebuilder:validation:XValidation:rule=\"self > 1\"\nF int `json:\"f,omitempty\"`"},
	{name: "syntax of a rule", field: "// +kubebuilder:validation:XValidation:rule=\"self > 0\"\n// HERE +kubebuilder:validation:XValidation:rule=\"self >\"\nF int `json:\"f,omitempty\"`"},
	{name: "a rule of another type", field: "// HERE +kubebuilder:validation:XValidation:rule=\"self.startsWith('a')\"\nF int `json:\"f,omitempty\"`"},
	{name: "a rule about no field", field: "// HERE +kubebuilder:validation:XValidation:rule=\"has(self.none)\"\nF KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a,omitempty\"`\n}"},
	{name: "a rule of the type", field: "F KINDPart `json:\"f,omitempty\"`", types: "// HERE +kubebuilder:validation:XValidation:rule=\"self.none == 1\"\ntype KINDPart struct {\nA string `json:\"a,omitempty\"`\n}"},
	{name: "cost of a rule", field: "// HERE +kubebuilder:validation:XValidation:rule=\"self.all(x, self.all(y, self.all(z, x == y || y == z)))\"\nF []string `json:\"f,omitempty\"`"},
	{name: "a default outside of an enum", field: "// +kubebuilder:validation:Enum=a;b\n// HERE +kubebuilder:default=c\nF string `json:\"f,omitempty\"`"},
	{name: "a default inside of an enum", field: "// +kubebuilder:validation:Enum=a;b\n// +kubebuilder:default=b\nF string `json:\"f,omitempty\"`"},
	{name: "a default outside of a range", field: "// +kubebuilder:validation:Maximum=3\n// HERE +default=5\nF int `json:\"f,omitempty\"`"},
	{name: "a default of another type", field: "// HERE +kubebuilder:default=\"x\"\nF int `json:\"f,omitempty\"`"},
	{name: "a default with an unknown field", field: "// HERE +kubebuilder:default={b:\"x\"}\nF KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a,omitempty\"`\n}"},
	{name: "a map without keys", field: "// HERE +listType=map\nF []KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a\"`\n}"},
	{name: "a key that is no field", field: "// +listType=map\n// HERE +listMapKey=b\nF []KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a\"`\n}"},
	{name: "a key that is right", field: "// +listType=map\n// +listMapKey=a\nF []KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a\"`\n}"},
	{name: "a set of structs", field: "// +listType=set\n// HERE\nF []KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a,omitempty\"`\n}"},
	{name: "no schema", field: "// +kubebuilder:validation:Schemaless\n// HERE\nF KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a,omitempty\"`\n}"},
	{name: "no schema, and all is kept", field: "// +kubebuilder:validation:Schemaless\n// +kubebuilder:pruning:PreserveUnknownFields\nF KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\nA string `json:\"a,omitempty\"`\n}"},
	{name: "recursion", field: "F KINDPart `json:\"f,omitempty\"`", types: "type KINDPart struct {\n// HERE\nParts []KINDPart `json:\"parts,omitempty\"`\n}"},
}

// places are where a field can stand below the spec. FIELD and TYPES stand for those of the mistake.
var places = map[string]string{
	"in the spec":            "type KINDSpec struct {\nFIELD\n}\nTYPES",
	"in a struct":            "type KINDSpec struct {\nIn KINDIn `json:\"in,omitempty\"`\n}\ntype KINDIn struct {\nFIELD\n}\nTYPES",
	"behind a pointer":       "type KINDSpec struct {\nIn *KINDIn `json:\"in,omitempty\"`\n}\ntype KINDIn struct {\nFIELD\n}\nTYPES",
	"in a list":              "type KINDSpec struct {\n// +kubebuilder:validation:MaxItems=4\nIn []KINDIn `json:\"in,omitempty\"`\n}\ntype KINDIn struct {\nFIELD\n}\nTYPES",
	"in a map":               "type KINDSpec struct {\n// +kubebuilder:validation:MaxProperties=4\nIn map[string]KINDIn `json:\"in,omitempty\"`\n}\ntype KINDIn struct {\nFIELD\n}\nTYPES",
	"in an embedded struct":  "type KINDSpec struct {\nKINDIn `json:\",inline\"`\n}\ntype KINDIn struct {\nFIELD\n}\nTYPES",
	"in a type of its own":   "type KINDSpec KINDReal\ntype KINDReal struct {\nFIELD\n}\nTYPES",
	"in a list of some name": "type KINDSpec struct {\n// +kubebuilder:validation:MaxItems=4\nIn KINDIns `json:\"in,omitempty\"`\n}\ntype KINDIns []KINDIn\ntype KINDIn struct {\nFIELD\n}\nTYPES",
}

// TestRejectedDefinitions makes kinds with every mistake at every place. Exactly the definitions that an API server
// rejects are problems, each at its marker or field.
func TestRejectedDefinitions(t *testing.T) {
	c := livetest.Client(t, servertest.Shared(t), client.Options{})
	dir := newProject(t)
	write(t, dir, "api/v1/doc.go", []byte("// +groupName=bad.example.com\npackage v1\n"))
	want := map[string]string{} // position by kind
	about := map[string]string{}
	for _, m := range mistakes {
		for place, text := range places {
			kind := fmt.Sprintf("K%d", len(about))
			about[kind] = m.name + " " + place
			text = strings.NewReplacer("FIELD", m.field, "TYPES", m.types).Replace(text)
			text = "package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n// +kubebuilder:object:root=true\n\n" +
				"type KIND struct {\nmetav1.TypeMeta `json:\",inline\"`\nmetav1.ObjectMeta `json:\"metadata,omitempty\"`\nSpec KINDSpec `json:\"spec,omitempty\"`\n}\n\n" + text + "\n"
			text = strings.ReplaceAll(text, "KIND", kind)
			file := "api/v1/" + strings.ToLower(kind) + ".go"
			for i, line := range strings.Split(text, "\n") {
				if after, found := strings.CutPrefix(line, "// HERE"); found && after == "" {
					want[kind] = fmt.Sprintf("%s:%d", file, i+2) // the field in the next line
				} else if found {
					want[kind] = fmt.Sprintf("%s:%d", file, i+1)
				}
			}
			write(t, dir, file, []byte(strings.ReplaceAll(strings.ReplaceAll(text, "// HERE\n", "//\n"), "// HERE ", "// ")))
		}
	}

	// What the server says of the files as they would be written.
	plan, err := Manifests(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	rejected := map[string]bool{}
	for _, f := range plan.Write {
		if filepath.Ext(f.Path) != ".yaml" {
			continue
		}
		var u unstructured.Unstructured
		if err := yaml.Unmarshal(f.Data, &u.Object); err != nil {
			t.Fatal(err)
		}
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
		_, err := client.Create(t.Context(), c, &u, client.DryRun{})
		rejected[kind] = err != nil
	}
	if len(rejected) != len(about) {
		t.Fatalf("%d definitions, want %d", len(rejected), len(about))
	}
	for kind, is := range rejected {
		// The server looks at no default below a map.
		if is != (want[kind] != "") && !(strings.HasPrefix(about[kind], "a default") && strings.HasSuffix(about[kind], "in a map")) {
			t.Errorf("%s (%s): rejected: %v", kind, about[kind], is)
		}
	}

	o := Options{Dir: dir, Accept: func(ctx context.Context, d *extv1.CustomResourceDefinition) error { return dryRun(ctx, c, d) }}
	_, err = Manifests(t.Context(), o)
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v, want problems", err)
	}
	found := map[string]bool{}
	for _, x := range problems {
		kind := strings.ToUpper(strings.TrimSuffix(filepath.Base(x.File), ".go"))
		if !strings.Contains(x.Message, kind+".bad.example.com v1 .spec") && !strings.Contains(x.Message, "entire OpenAPIv3 schema") {
			t.Errorf("%s does not name its kind and field", x)
		}
		if !rejected[kind] {
			t.Errorf("%s (%s): no server says %s", kind, about[kind], x)
		}
		if strings.HasPrefix(x.Position.String(), want[kind]+":") {
			found[kind] = true
		}
	}
	for kind, is := range rejected {
		if is && !found[kind] {
			t.Errorf("%s (%s): no problem at %s", kind, about[kind], want[kind])
			for _, x := range problems {
				if strings.HasSuffix(x.File, "/"+strings.ToLower(kind)+".go") {
					t.Log(x)
				}
			}
		}
	}

	// With the permission to go on, all is written, and told.
	o.AllowRejected = true
	again, err := Manifests(t.Context(), o)
	if err != nil || len(again.Write) != len(plan.Write) || len(again.Warnings) < len(problems) {
		t.Errorf("%v, %+v", err, again)
	}
}

func dryRun(ctx context.Context, c client.Client, d *extv1.CustomResourceDefinition) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var u unstructured.Unstructured
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		return err
	}
	_, err = client.Create(ctx, c, &u, client.DryRun{})
	return err
}
