package controller_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/operatortest"
	"github.com/flyball-io/flyball/test/servertest"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
	webappv2 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v2"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestAPI is what the users of the API see, whatever the controller does.
func TestAPI(t *testing.T) {
	op := start(t)
	t.Run("defaults", func(t *testing.T) { testDefaults(t, op) })
	t.Run("versions", func(t *testing.T) { testVersions(t, op) })
	t.Run("refused", func(t *testing.T) { testRefused(t, op) })
	t.Run("protected", func(t *testing.T) { testProtected(t, op) })
	t.Run("scale", func(t *testing.T) { testScale(t, op) })
	t.Run("columns", func(t *testing.T) { testColumns(t, op) })
	t.Run("docs", testDocs)
}

func testDefaults(t *testing.T, op *operatortest.Operator) {
	g := create(t, op, "defaults", webappv1.GuestbookSpec{Message: "Hello"})
	one := int32(1)
	if want := (webappv1.GuestbookSpec{Size: &one, Message: "Hello", Alias: webappv1.Name, Image: webappv1.DefaultImage}); !reflect.DeepEqual(g.Spec, want) {
		t.Errorf("created as %+v, want %+v", g.Spec, want)
	}
}

// testVersions reads and writes one object in both versions.
func testVersions(t *testing.T, op *operatortest.Operator) {
	three := int32(3)
	spec := webappv1.GuestbookSpec{Size: &three, Message: "Hello", Alias: webappv1.Phone, Image: "a.example:5000/web:1.2@" + digest}
	one := create(t, op, "versions", spec)
	two, err := client.Get[webappv2.Guestbook](t.Context(), op.Client, object.KeyOf(one))
	if err != nil {
		t.Fatal(err)
	}
	if want := (webappv2.Image{Repository: "a.example:5000/web", Tag: "1.2", Digest: digest}); two.Spec.Image != want {
		t.Errorf("image in v2: %+v, want %+v", two.Spec.Image, want)
	}
	// Back: all of it is written in v2.
	if _, err := client.Patch(t.Context(), op.Client, two, client.MergePatch(map[string]any{"spec": two.Spec})); err != nil {
		t.Fatal(err)
	}
	one, err = client.Get[webappv1.Guestbook](t.Context(), op.Client, object.KeyOf(one))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one.Spec, spec) || one.Generation != two.Generation {
		t.Errorf("by way of v2: %+v, generation %d; want %+v, %d", one.Spec, one.Generation, spec, two.Generation)
	}
	if _, err := client.Patch(t.Context(), op.Client, two, client.MergePatch(`{"spec":{"image":{"tag":"1.3","digest":null}}}`)); err != nil {
		t.Fatal(err)
	}
	one, err = client.Get[webappv1.Guestbook](t.Context(), op.Client, object.KeyOf(one))
	if err != nil || one.Spec.Image != "a.example:5000/web:1.3" {
		t.Errorf("changed in v2: image %q, %v", one.Spec.Image, err)
	}
}

func testRefused(t *testing.T, op *operatortest.Operator) {
	g := create(t, op, "refused", webappv1.GuestbookSpec{Alias: webappv1.Phone})
	first := &webappv1.Guestbook{ObjectMeta: g.ObjectMeta}
	second := &webappv2.Guestbook{ObjectMeta: g.ObjectMeta}
	for _, tc := range []struct {
		name  string
		obj   object.Object
		patch string
		field string
		says  string
	}{
		{"too small", first, `{"spec":{"size":0}}`, "spec.size", "greater than or equal to 1"},
		{"too large", first, `{"spec":{"size":11}}`, "spec.size", "less than or equal to 10"},
		{"no such alias", first, `{"spec":{"alias":"Email"}}`, "spec.alias", `"Phone", "Address", "Name"`},
		{"another alias", first, `{"spec":{"alias":"Address"}}`, "spec.alias", "cannot be changed"},
		{"another alias in v2", second, `{"spec":{"alias":"Address"}}`, "spec.alias", "cannot be changed"},
		{"two lines", first, `{"spec":{"message":"two\nlines"}}`, "spec.message", "must be one line"},
		{"no image", first, `{"spec":{"image":"My Image"}}`, "spec.image", "should match"},
		{"no tag", second, `{"spec":{"image":{"tag":"a b"}}}`, "spec.image.tag", "should match"},
		{"no repository", second, `{"spec":{"image":{"repository":null}}}`, "spec.image.repository", "Required"},
		{"too long for v1", second, `{"spec":{"image":{"repository":"` + strings.Repeat("a", 250) + `","tag":"123456"}}}`, "spec.image", "255 characters at most"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := client.Patch(t.Context(), op.Client, tc.obj, client.MergePatch(tc.patch), client.DryRun{})
			invalid, ok := errors.AsType[*client.InvalidError](err)
			if !ok || !slices.ContainsFunc(invalid.Fields, func(p metav1.StatusCause) bool {
				return p.Field == tc.field && strings.Contains(err.Error(), tc.says)
			}) {
				t.Errorf("%v (%+v), want %s: %s", err, invalid, tc.field, tc.says)
			}
		})
	}
	_, err := client.Create(t.Context(), op.Client, &webappv1.Guestbook{ObjectMeta: metav1.ObjectMeta{Name: "9.lives", Namespace: op.Namespace}})
	if invalid, ok := errors.AsType[*client.InvalidError](err); !ok || invalid.Fields[0].Field != "metadata.name" {
		t.Errorf("a name that no Service can have: %v", err)
	}
}

func testProtected(t *testing.T, op *operatortest.Operator) {
	g := create(t, op, "protected", webappv1.GuestbookSpec{})
	protect := `{"metadata":{"annotations":{"` + webappv1.ProtectedAnnotation + `":"true"}}}`
	if _, err := client.Patch(t.Context(), op.Client, g, client.MergePatch(protect)); err != nil {
		t.Fatal(err)
	}
	err := client.Delete(t.Context(), op.Client, g)
	if _, ok := errors.AsType[*client.InvalidError](err); !ok || !strings.Contains(err.Error(), "the Guestbook is protected") {
		t.Errorf("deleted: %v", err)
	}
	// In v2, which asks the same webhook, and in bulk.
	if err := client.Delete(t.Context(), op.Client, &webappv2.Guestbook{ObjectMeta: g.ObjectMeta}); err == nil {
		t.Error("deleted in v2")
	}
	if err := client.DeleteAll[webappv1.Guestbook](t.Context(), op.Client, client.InNamespace(op.Namespace), client.FieldSelector("metadata.name=protected")); err == nil {
		t.Error("deleted with all others")
	}
	if _, err := client.Get[webappv1.Guestbook](t.Context(), op.Client, object.KeyOf(g)); err != nil {
		t.Error(err)
	}
}

func testScale(t *testing.T, op *operatortest.Operator) {
	g := create(t, op, "scale", webappv1.GuestbookSpec{})
	if err := client.SetScale(t.Context(), op.Client, g, 5); err != nil {
		t.Fatal(err)
	}
	g = operatortest.Await(t, op, g, func(g *webappv1.Guestbook) bool { return g.Status.Replicas == 5 })
	scale, err := client.GetSub[autoscalingv1.Scale](t.Context(), op.Client, g, "scale")
	if err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 5 || scale.Status.Replicas != 5 || scale.Status.Selector != "app.kubernetes.io/instance=scale,app.kubernetes.io/name=guestbook" {
		t.Errorf("%+v", scale)
	}
	if err := client.SetScale(t.Context(), op.Client, g, 11); err == nil || !strings.Contains(err.Error(), "spec.size") {
		t.Errorf("scaled to 11: %v", err)
	}
}

// testColumns asks for what kubectl get shows.
func testColumns(t *testing.T, op *operatortest.Operator) {
	g := create(t, op, "columns", webappv1.GuestbookSpec{Alias: webappv1.Address})
	operatortest.Await(t, op, g, isReady)
	for _, version := range []string{"v1", "v2"} {
		var table metav1.Table
		text := fetch(t, "/apis/webapp.example.com/"+version+"/namespaces/"+op.Namespace+"/guestbooks/columns", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if err := json.Unmarshal(text, &table); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range table.ColumnDefinitions {
			names = append(names, c.Name)
		}
		if want := []string{"Name", "Size", "Ready", "Alias", "Message", "Age"}; !slices.Equal(names, want) {
			t.Errorf("%s: columns %q, want %q", version, names, want)
		}
		if cells := table.Rows[0].Cells; !reflect.DeepEqual(cells[:4], []any{"columns", 1.0, "True", "Address"}) {
			t.Errorf("%s: %v", version, cells)
		}
	}
}

// testDocs asks for what kubectl explain shows.
func testDocs(t *testing.T) {
	for version, docs := range map[string][]string{
		"v1": {"Guestbook is a small web application", "Size is how many Pods serve the guestbook", "REPOSITORY[:TAG][@DIGEST]"},
		"v2": {"Guestbook is a small web application", "Alias is what visitors sign with. It cannot be changed.", `Repository as in \"shop.example.com/guestbook\"`},
	} {
		text := fetch(t, "/openapi/v3/apis/webapp.example.com/"+version, "application/json")
		for _, doc := range docs {
			if !strings.Contains(string(text), doc) {
				t.Errorf("%s: no word of %q", version, doc)
			}
		}
	}
}

// fetch reads a path of the API server as the administrator.
func fetch(t *testing.T, path, accept string) []byte {
	t.Helper()
	cfg := servertest.Shared(t).RESTConfig()
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, text)
	}
	return text
}
