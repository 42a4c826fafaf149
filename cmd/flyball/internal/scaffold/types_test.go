package scaffold

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// nested has all elements of API types.
const nested = `package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Mode string

type Port struct {
	Number int32
	Mode   Mode
}

type Ports []Port

type Flat struct {
	A, B string
	C    *int64
	D    map[string][]string
	E    metav1.Duration
}

type ThingSpec struct {
	Flat ` + "`json:\",inline\"`" + `
	Mode   Mode
	Modes  []Mode
	First  *Port
	Ports  Ports
	ByName map[string]Port
	ByMode map[Mode]*Port
	Deep   [][]*Port
	Copy   *Flat
	Text   string
}

// Thing is one.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
type Thing struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec ThingSpec
}
`

// The generated functions for nested types compile in a module of their own, and lose nothing.
func TestNestedConversion(t *testing.T) {
	tier.Audit(t, "runs the go command")
	types, err := parseTypes("thing_types.go", []byte(nested))
	if err != nil {
		t.Fatal(err)
	}
	p := &Project{Module: "example.com/x"}
	sc := scene{Project: p, API: &API{Group: "g", Kind: "Thing", Hub: "v1"}, Version: &Version{Name: "v2"}}
	var funcs [2]string
	if sc.ToHub, funcs[0], err = types.copyKind("Thing", "s", "", "h", "hub.", "ToHub"); err != nil {
		t.Fatal(err)
	}
	if sc.FromHub, funcs[1], err = types.copyKind("Thing", "h", "hub.", "s", "", "FromHub"); err != nil {
		t.Fatal(err)
	}
	sc.Functions = funcs[0] + funcs[1]
	conversion, err := render("api/conversion.go", sc)
	if err != nil {
		t.Fatal(err)
	}
	v2, err := types.copyTo("v2")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(v2), "storageversion") {
		t.Error("the copy is stored too")
	}
	dir := t.TempDir()
	strip := func(s []byte) string { // the meta API is not the subject of this test
		s2 := strings.NewReplacer("metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"", "metav1 \"example.com/x/meta\"").Replace(string(s))
		return s2
	}
	for name, text := range map[string]string{
		"go.mod":                  "module example.com/x\n\ngo 1.26\n",
		"meta/meta.go":            "package meta\ntype TypeMeta struct{}\ntype ObjectMeta struct{ Name string }\ntype Duration struct{ D int }\n",
		"api/g/v1/thing_types.go": strip([]byte(nested)),
		"api/g/v2/thing_types.go": strip(v2),
		"api/g/v2/conversion.go":  string(conversion),
		"api/g/v2/thing_x_test.go": `package v2

import (
	"reflect"
	"testing"

	hub "example.com/x/api/g/v1"
)

func TestX(t *testing.T) {
	n := int64(7)
	p := Port{1, "a"}
	in := &Thing{Spec: ThingSpec{
		Flat: Flat{A: "a", B: "b", C: &n, D: map[string][]string{"x": {"y"}}}, Mode: "m", Modes: []Mode{"q", "r"}, First: &p,
		Ports: Ports{p}, ByName: map[string]Port{"x": p}, ByMode: map[Mode]*Port{"m": &p, "n": nil}, Deep: [][]*Port{nil, {&p, nil}}, Copy: &Flat{A: "z"}, Text: "t"}}
	h, out := &hub.Thing{}, &Thing{}
	if err := in.ConvertTo(h); err != nil {
		t.Fatal(err)
	}
	if err := out.ConvertFrom(h); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("%+v, want %+v", out, in)
	}
}
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&Options{}).run(context.WithoutCancel(t.Context()), dir, "go", "test", "./..."); err != nil {
		t.Fatalf("%v\n%s", err, conversion)
	}
}

func TestForeignTypes(t *testing.T) {
	types, err := parseTypes("x.go", []byte("package v1\n\ntype A struct { B B; C []C; S string }\n\ntype C int\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := types.copyTo("v2"); err == nil || !strings.Contains(err.Error(), "x.go uses B of other files") {
		t.Errorf("%v", err)
	}
}

func TestUnconvertible(t *testing.T) {
	types, err := parseTypes("x.go", []byte("package v1\n\ntype A struct { F [2]C }\n\ntype C struct{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := types.copyKind("A", "s", "", "h", "hub.", "ToHub"); err == nil || !strings.HasPrefix(err.Error(), "x.go:3:19: ") {
		t.Errorf("%v", err)
	}
}

// The marker is added to the comment of the kind, once.
func TestConversionMarker(t *testing.T) {
	text := []byte(nested)
	for range 2 {
		types, err := parseTypes("x.go", text)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = types.withConversion("Thing"); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "+kubebuilder:storageversion\n// "+conversionMarker+"\ntype Thing struct"); n != 1 {
			t.Errorf("%d markers:\n%s", n, text)
		}
	}
}
