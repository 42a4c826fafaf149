package plan

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
)

// draw returns any plan.
func draw(r *rapid.T) (p Plan) {
	for range rapid.IntRange(0, 4).Draw(r, "faults") {
		f := Fault{Kind: rapid.SampledFrom(known).Draw(r, "kind")}
		if f.Kind.Until() {
			f.Until = rapid.IntRange(0, 12).Draw(r, "until")
		}
		f.At = Point{
			Program: rapid.SampledFrom([]string{"", "other", "a/b"}).Draw(r, "program"), Step: rapid.IntRange(0, 12).Draw(r, "step"),
			Verb:   rapid.SampledFrom([]string{"create", "delete", "list", "ADDED", "DELETED", "begin"}).Draw(r, "verb"),
			Object: rapid.SampledFrom([]string{"pods/default/a", "deployments.apps/default/web/scale", "/apis", "nodes/n:1", "step"}).Draw(r, "object"),
			Nth:    rapid.IntRange(1, 30).Draw(r, "nth"),
		}
		p = append(p, f)
	}
	return p
}

// What is printed is read back.
func TestPlansAreReadBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := draw(r)
		got, err := Parse(p.String())
		if err != nil || got.String() != p.String() || len(got) != len(p) {
			r.Fatalf("%q: %v, %v", p, got, err)
		}
		for i := range p {
			if got[i] != p[i] {
				r.Fatalf("%q: %v, want %v", p, got[i], p[i])
			}
		}
	})
}

// A plan that nobody can have meant is an error that names the part.
func TestBadPlansAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"crash":                        `fault "crash": it has the form KIND@POINT`,
		"crash@1:create:pods":          `there is no kind "crash"`,
		"409@create:pods":              "has the form STEP:VERB:OBJECT",
		"409@x:create:pods":            `the step "x" is no number`,
		"409@1:create:pods#0":          `the number "0" is none from 1`,
		"lag@1:ADDED:pods/a":           "has its last step",
		"409~2@1:create:pods":          "has no last step",
		"stale~two@1:ADDED:pods/a":     `the step "two" is no number`,
		"409@1:create:pods 500@1:list": `fault "500@1:list"`,
	} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, p, err, want)
		}
	}
}

// The kinds of errors are those of their codes, and no other kind has one.
func TestCodes(t *testing.T) {
	for _, k := range known {
		if code := k.Code(); (code != 0) != (k[0] == '4' || k[0] == '5') || code != 0 && (code < 400 || code > 599) {
			t.Errorf("%s: %d", k, code)
		}
	}
}

// Plans that have one order have one text, and the other way round the order is the opposite one.
func TestPlansHaveAnOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, q := draw(r), draw(r)
		if rapid.Bool().Draw(r, "alike") && len(p) > 0 {
			q = append(Plan{}, p...)
			q[0].At.Nth += rapid.IntRange(0, 1).Draw(r, "more")
		}
		if n := p.Compare(q); (n == 0) != (p.String() == q.String()) || n*q.Compare(p) > 0 || len(p) < len(q) && n >= 0 {
			r.Fatalf("%q and %q: %d, and %d", p, q, n, q.Compare(p))
		}
	})
}
