package v2

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/manifest"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImage(t *testing.T) {
	for s, want := range map[string]Image{
		"":                         {},
		"web":                      {Repository: "web"},
		"web:1.2":                  {Repository: "web", Tag: "1.2"},
		"a.example:5000/web":       {Repository: "a.example:5000/web"},
		"a.example:5000/web:1.2":   {Repository: "a.example:5000/web", Tag: "1.2"},
		"a/b/web@" + digest:        {Repository: "a/b/web", Digest: digest},
		"a/b/web:1.2@" + digest:    {Repository: "a/b/web", Tag: "1.2", Digest: digest},
		"a.example:5000":           {Repository: "a.example", Tag: "5000"},
		"a:5/web:latest@" + digest: {Repository: "a:5/web", Tag: "latest", Digest: digest},
	} {
		if got := ParseImage(s); got != want {
			t.Errorf("ParseImage(%q) = %+v, want %+v", s, got, want)
		}
		if got := want.String(); got != s {
			t.Errorf("%+v is %q, want %q", want, got, s)
		}
	}
}

// FuzzImage: what the CRD admits as one string it admits in parts, and the other way round, and
// both are the same image.
func FuzzImage(f *testing.F) {
	one := pattern(f, 0, "image")
	repository, tag, sum := pattern(f, 1, "image", "properties", "repository"),
		pattern(f, 1, "image", "properties", "tag"), pattern(f, 1, "image", "properties", "digest")
	f.Add("web", "", "")
	f.Add("a.example:5000/b/web", "1.2", digest)
	f.Add("a.example", "5000", "")
	f.Add("a:5000", "", "")
	f.Fuzz(func(t *testing.T, r, g, d string) {
		parts := Image{Repository: r, Tag: g, Digest: d}
		s := parts.String()
		admitted := repository.MatchString(r) && (g == "" || tag.MatchString(g)) && (d == "" || sum.MatchString(d))
		if len(g) <= 128 && admitted && (!one.MatchString(s) || ParseImage(s) != parts) {
			t.Errorf("%+v is %q, and that is %+v; admitted: %v", parts, s, ParseImage(s), one.MatchString(s))
		}
		for _, s := range []string{r, s} {
			if !one.MatchString(s) {
				continue
			}
			p := ParseImage(s)
			if p.String() != s || !repository.MatchString(p.Repository) ||
				(p.Tag != "" && !tag.MatchString(p.Tag)) || (p.Digest != "" && !sum.MatchString(p.Digest)) {
				t.Errorf("%q is %+v, and that is %q", s, p, p)
			}
		}
	})
}

// pattern is that of a field of the spec in a version of the CRD.
func pattern(t testing.TB, version int, field ...string) *regexp.Regexp {
	t.Helper()
	crds, err := manifest.Read("../../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crds[0].Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	path := append([]string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}, field...)
	text, _, err := unstructured.NestedString(versions[version].(map[string]any), append(path, "pattern")...)
	if err != nil || text == "" {
		t.Fatalf("no pattern of %v: %v", field, err)
	}
	return regexp.MustCompile(text)
}
