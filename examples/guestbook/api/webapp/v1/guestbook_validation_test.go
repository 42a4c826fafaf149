package v1

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/test/webhooktest"
	"github.com/flyball-io/flyball/webhook"
)

// guestbook is one in good order, changed by each.
func guestbook(changes ...func(*Guestbook)) *Guestbook {
	g := &Guestbook{ObjectMeta: metav1.ObjectMeta{Name: "visitors", Namespace: "default"}}
	g.SetDefaults()
	for _, change := range changes {
		change(g)
	}
	return g
}

func TestValidateGuestbook(t *testing.T) {
	two := int32(2)
	now := metav1.Now()
	phone := func(g *Guestbook) { g.Spec.Alias = Phone }
	lines := func(g *Guestbook) { g.Spec.Message = "two\nlines" }
	protected := func(g *Guestbook) { g.Annotations = map[string]string{ProtectedAnnotation: "true"} }
	deleted := func(g *Guestbook) { g.DeletionTimestamp = &now }
	for _, tc := range []struct {
		name     string
		old, obj *Guestbook // an update has both, a deletion the old one
		fields   []string   // that are refused; none: it is allowed
	}{
		{"create", nil, guestbook(), nil},
		{"create, the server makes up a name", nil, guestbook(func(g *Guestbook) { g.Name, g.GenerateName = "", "a-" }), nil},
		{"create, no name for a Service", nil, guestbook(func(g *Guestbook) { g.Name = "9.lives" }), []string{"metadata.name"}},
		{"create, a name too long", nil, guestbook(func(g *Guestbook) { g.Name = strings.Repeat("a", 64) }), []string{"metadata.name"}},
		{"create, two lines", nil, guestbook(lines), []string{"spec.message"}},
		{"update", guestbook(), guestbook(func(g *Guestbook) { g.Spec.Size = &two }), nil},
		{"update, another alias", guestbook(), guestbook(phone), []string{"spec.alias"}},
		{"update, two things", guestbook(), guestbook(phone, lines), []string{"spec.message", "spec.alias"}},
		{"update, there was no alias", guestbook(func(g *Guestbook) { g.Spec.Alias = "" }), guestbook(), nil},
		{"update while it goes", guestbook(lines, deleted), guestbook(lines, deleted), nil},
		{"delete", guestbook(), nil, nil},
		{"delete, protected", guestbook(protected), nil, []string{"metadata.annotations[webapp.example.com/protected]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := runtime.NewScheme()
			if err := AddToScheme(s); err != nil {
				t.Fatal(err)
			}
			h, err := webhook.NewValidator[Guestbook](s, guestbookValidator{}, webhook.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var res webhooktest.Result[*Guestbook]
			switch {
			case tc.old == nil:
				res, err = webhooktest.Create(t.Context(), h, tc.obj)
			case tc.obj == nil:
				res, err = webhooktest.Delete(t.Context(), h, tc.old)
			default:
				res, err = webhooktest.Update(t.Context(), h, tc.old, tc.obj)
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.Allowed != (tc.fields == nil) || !slices.Equal(res.Fields(), tc.fields) {
				t.Errorf("allowed %v, fields %q; want %q; %v", res.Allowed, res.Fields(), tc.fields, res.Status)
			}
		})
	}
}

func TestWarnsOfLatest(t *testing.T) {
	latest := guestbook(func(g *Guestbook) { g.Spec.Image = "web:latest" })
	got, err := guestbookValidator{}.ValidateCreate(t.Context(), latest)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "spec.image: ") {
		t.Errorf("warnings %q, %v", got, err)
	}
}
