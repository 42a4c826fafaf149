package generate

import (
	"fmt"
	"strings"
	"testing"
)

// oddities are what controller-gen accepts, as files of a package odd with the group odd.example.com, and a part of the
// warning about it, if there is one.
var oddities = map[string]struct{ text, warning string }{
	"an unknown marker":             {"type A struct {\n// +kubebuilder:validation:OneOf=1\nF int `json:\"f\"`\n}", "unknown marker"},
	"a marker of a field on a type": {"// +optional\ntype B struct{}", "has no effect here"},
	"a marker on a constant":        {"const C = `c`\n\nconst (\n// +kubebuilder:validation:Type=boolean\nD = `d`\n)", "has no effect here"},
	"markers of kinds on no kind":   {"// +kubebuilder:resource:scope=Cluster\ntype E struct{}", "is no kind"},
	"an interface":                  {"type F interface{ Name() string }", ""},
	"an interface of another one":   {"type G fmt.Stringer", ""},
	"a function that is wrong":      {"func h() int { return nothing }", ""},
	"a column without a dot":        {kindOf("K", "// +kubebuilder:printcolumn:name=A,type=string,JSONPath=`spec`\n"), "must be a path that begins with a dot"},
	"a resource in two markers":     {kindOf("L", "// +kubebuilder:resource:path=elles\n// +kubebuilder:resource:scope=Cluster\n"), ""},
}

func kindOf(name, markers string) string {
	return "// +kubebuilder:object:root=true\n" + markers + "type " + name + " struct {\nmetav1.TypeMeta `json:\",inline\"`\nmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}"
}

// What controller-gen accepts is a warning at most, in manifests and in code.
func TestOdditiesAreAccepted(t *testing.T) {
	t.Parallel()
	dir := newProject(t)
	n := 0
	for name, o := range oddities {
		n++
		imports := ""
		if strings.Contains(o.text, "metav1.") {
			imports = "import metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n"
		} else if strings.Contains(o.text, "fmt.") {
			imports = "import \"fmt\"\n"
		}
		write(t, dir, fmt.Sprintf("api/odd/f%d.go", n), []byte("package odd\n\n"+imports+"\n// "+name+".\n\n"+o.text+"\n"))
	}
	write(t, dir, "api/odd/doc.go", []byte("// +groupName=odd.example.com\n// +kubebuilder:object:generate=true\npackage odd\n"))
	// A version that is declared as another one, of a kind that converts without the marker, and one without a group.
	write(t, dir, "api/v1/v1.go", []byte("// +groupName=two.example.com\npackage v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n"+
		kindOf("Two", "// +kubebuilder:storageversion\n// +kubebuilder:resource:path=twos,shortName=a\n")+"\n"))
	write(t, dir, "api/v2/v2.go", []byte("// +groupName=two.example.com\npackage v2\n\nimport one \"example.com/shop/api/v1\"\n\n"+
		"// +kubebuilder:object:root=true\n// +kubebuilder:resource:path=twos,shortName=b\n// +kubebuilder:unservedversion\ntype Two one.Two\n\n"+
		"func (t *Two) ConvertTo(any) error { return nil }\n\nfunc (t *Two) DeepCopy() *Two { c := *t; return &c }\n"))
	write(t, dir, "api/none/none.go", []byte("package none\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n"+kindOf("None", "")+"\n"))

	manifests, err := Manifests(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	code, err := Code(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, w := range manifests.Warnings {
		all += w.String() + "\n"
	}
	for name, o := range oddities {
		if !strings.Contains(all, o.warning) {
			t.Errorf("%s: no warning %q", name, o.warning)
		}
	}
	for _, want := range []string{"Two.two.example.com: version v2 converts, but the CRD has no conversion", "kind None has no CRD", "and this one holds",
		"package odd is not named as a Kubernetes version"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
	files := map[string]string{}
	for _, f := range append(manifests.Write, code.Write...) {
		files[f.Path] = string(f.Data)
	}
	for path, want := range map[string]string{
		"config/crd/bases/two.example.com_twos.yaml":  "shortNames:\n    - a",
		"config/crd/bases/odd.example.com_elles.yaml": "scope: Cluster",
		"api/odd/zz_generated.deepcopy.go":            "func (in *K) DeepCopyInto",
	} {
		if !strings.Contains(files[path], want) {
			t.Errorf("%s has no %q:\n%s", path, want, files[path])
		}
	}
	if strings.Contains(files["api/odd/zz_generated.deepcopy.go"], "*F)") {
		t.Error("an interface has methods")
	}
	compiles := ""
	for _, w := range code.Warnings {
		compiles += w.String()
	}
	if !strings.Contains(compiles, "does not compile: undefined: nothing") {
		t.Errorf("no warning of the function: %s", compiles)
	}
}
