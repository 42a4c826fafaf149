package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
)

// tree has lists of each sort: with a key, without one, in lists, in maps, in a status.
type tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              branch `json:"spec"`
	Status            branch `json:"status,omitempty"`
}

type branch struct {
	Size  int               `json:"size,omitempty"`
	Text  []string          `json:"text,omitempty"`
	Named []leaf            `json:"named,omitempty"`
	Plain []twig            `json:"plain,omitempty"`
	Maps  map[string][]leaf `json:"maps,omitempty"`
	Sub   *branch           `json:"sub,omitempty"`
}

type leaf struct {
	Name  string `json:"name"`
	Value int    `json:"value,omitempty"`
	Twigs []twig `json:"twigs,omitempty"`
}

type twig struct {
	Path string `json:"path"`
	Cost int    `json:"cost,omitempty"`
}

func (w *tree) DeepCopyObject() runtime.Object {
	data, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	d := new(tree)
	if err := json.Unmarshal(data, d); err != nil {
		panic(err)
	}
	return d
}

func randomBranch(r *rand.Rand, depth int) branch {
	b := branch{Size: r.IntN(3)}
	for i := range r.IntN(3) {
		b.Text = append(b.Text, fmt.Sprint("t", i))
	}
	b.Named = randomLeaves(r)
	b.Plain = randomTwigs(r)
	for i := range r.IntN(3) {
		if b.Maps == nil {
			b.Maps = map[string][]leaf{}
		}
		b.Maps[fmt.Sprint("m", i)] = randomLeaves(r)
	}
	if depth > 0 && r.IntN(2) == 0 {
		sub := randomBranch(r, depth-1)
		b.Sub = &sub
	}
	return b
}

func randomLeaves(r *rand.Rand) (all []leaf) {
	for i := range r.IntN(4) {
		all = append(all, leaf{Name: fmt.Sprint("n", i), Value: r.IntN(3), Twigs: randomTwigs(r)})
	}
	return all
}

func randomTwigs(r *rand.Rand) (all []twig) {
	for i := range r.IntN(4) {
		all = append(all, twig{fmt.Sprint("/", i), r.IntN(3)})
	}
	return all
}

// change changes, adds, removes and moves some elements.
func (b *branch) change(r *rand.Rand) {
	if r.IntN(2) == 0 {
		b.Size++
	}
	changeLeaves(r, &b.Named)
	changeTwigs(r, &b.Plain)
	for _, k := range slices.Sorted(maps.Keys(b.Maps)) {
		l := b.Maps[k]
		changeLeaves(r, &l)
		b.Maps[k] = l
	}
	switch {
	case b.Sub == nil:
	case r.IntN(4) == 0:
		b.Sub = nil
	default:
		b.Sub.change(r)
	}
}

func changeLeaves(r *rand.Rand, l *[]leaf) {
	for i := range *l {
		if r.IntN(4) == 0 {
			(*l)[i].Value += 10
			changeTwigs(r, &(*l)[i].Twigs)
		}
	}
	switch r.IntN(6) {
	case 0:
		*l = append(*l, leaf{Name: "new"})
	case 1:
		*l = (*l)[:len(*l)/2]
	case 2:
		r.Shuffle(len(*l), func(i, j int) { (*l)[i], (*l)[j] = (*l)[j], (*l)[i] })
	}
}

func changeTwigs(r *rand.Rand, l *[]twig) {
	for i := range *l {
		if r.IntN(4) == 0 {
			(*l)[i].Cost += 10
		}
	}
	switch r.IntN(8) {
	case 0:
		*l = append(*l, twig{Path: "/new"})
	case 1:
		*l = (*l)[:len(*l)/2]
	}
}

// addUnknown gives some objects of a document a field that tree does not have.
func addUnknown(r *rand.Rand, v any, n *int) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			addUnknown(r, v[k], n)
		}
		if _, isMap := v["m0"]; !isMap && r.IntN(2) == 0 { // the entries of maps are lists
			*n++
			v["extra"] = fmt.Sprint("x", *n)
		}
	case []any:
		for _, e := range v {
			addUnknown(r, e, n)
		}
	}
}

var treeGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// stored is a server with one object. A patch is merged, and an update replaces it.
func stored(t *testing.T, doc string) (*Live, func() string) {
	f := newFake(t)
	now := doc
	get := func(w http.ResponseWriter, r *http.Request) { text(200, wire.ContentTypeJSON, now)(w, r) }
	f.on("GET "+widgetPath, get)
	write := func(w http.ResponseWriter, r *http.Request) {
		body := []byte(f.last().body)
		if r.Method == http.MethodPut {
			now = string(body)
		} else {
			var patch, whole any
			if json.Unmarshal(body, &patch) != nil || json.Unmarshal([]byte(now), &whole) != nil {
				t.Errorf("no JSON: %s", body)
			}
			data, err := json.Marshal(merged(whole, patch))
			if err != nil {
				t.Error(err)
			}
			now = string(data)
		}
		get(w, r)
	}
	for _, verb := range []string{"PUT ", "PATCH "} {
		f.on(verb+widgetPath, write)
		f.on(verb+widgetPath+"/status", write)
	}
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(treeGVK, &tree{})
	return f.client(Options{Scheme: s}), func() string { return now }
}

// merged is RFC 7386.
func merged(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	m, ok := target.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = merged(m[k], v)
		}
	}
	return m
}

// Whatever a program changes in an object with fields that its Go type lacks, a patch of the difference leaves the
// same object as an update does, with the same fields; or both are refused.
func TestDiffKeepsUnknownFieldsAsAnUpdateDoes(t *testing.T) {
	lost, kept := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := &tree{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}, Spec: randomBranch(r, 2)}
		o.Name, o.Namespace, o.UID, o.ResourceVersion = "w", "web", "u", "1"
		whole := decoded(t, string(must1(json.Marshal(o)))).(map[string]any)
		n := 0
		addUnknown(r, whole["spec"], &n)
		doc := string(must1(json.Marshal(whole)))
		locked, otherRead := r.IntN(2) == 0, r.IntN(3) == 0
		apply := func(write func(c *Live, before, after *tree) error) (string, error) {
			c, now := stored(t, doc)
			before, err := Get[tree](t.Context(), c, key("w"))
			if err != nil {
				t.Fatal(err)
			}
			after := before.DeepCopyObject().(*tree)
			after.Spec.change(rand.New(rand.NewPCG(seed, 2)))
			if otherRead {
				c.originals = new(originals) // of another client: it is read again
			}
			err = write(c, before, after)
			return now(), err
		}
		want, refused := apply(func(c *Live, _, after *tree) error { _, err := Update(t.Context(), c, after); return err })
		got, err := apply(func(c *Live, before, after *tree) error {
			patch := Diff(before, after)
			if locked {
				patch = DiffWithLock(before, after)
			}
			_, err := Patch(t.Context(), c, after, patch)
			return err
		})
		switch {
		case refused != nil && !is[*UnknownFieldsError](refused) || err != nil && !is[*UnknownFieldsError](err):
			t.Fatalf("seed %d: %v, %v", seed, refused, err)
		case (err != nil) != (refused != nil):
			t.Fatalf("seed %d: of the update %v, of the patch %v", seed, refused, err)
		case err != nil:
			lost++
			if got != doc {
				t.Fatalf("seed %d: refused, and sent", seed)
			}
		default:
			kept++
			if d := cmp.Diff(decoded(t, want), decoded(t, got)); d != "" {
				t.Fatalf("seed %d: the update is -, the patch is +\n%s\nof %s", seed, d, doc)
			}
		}
	}
	if lost == 0 || kept < 100 {
		t.Errorf("%d refused, %d kept: the generator tries too little", lost, kept)
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
