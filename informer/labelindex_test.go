package informer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// listed returns the names of a list by labels.
func listed(t *testing.T, in *informer.Informer, namespace, selector string, where store.Cond) (found []string) {
	t.Helper()
	sel, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	all, err := in.Entries(informer.Query{Namespace: namespace, Labels: sel, Where: where})
	if err != nil {
		t.Fatal(err)
	}
	for e := range all {
		found = append(found, e.Key().String())
	}
	return found
}

// An index of labels is made where lists read much more than they return, and only there.
func TestLabelIndexIsMadeWhereItHelps(t *testing.T) {
	for name, c := range map[string]struct {
		objects, values int
		selector        string
		lists           int
		want            bool
	}{
		"few of many":              {1500, 100, "example.org/app.kubernetes.io=v7", 40, true},
		"by one value of a set":    {1500, 100, "example.org/app.kubernetes.io in (v7),tier!=x", 40, true},
		"not yet often":            {1500, 100, "example.org/app.kubernetes.io=v7", 12, false},
		"much of what it reads":    {1500, 5, "example.org/app.kubernetes.io=v3", 200, false},
		"few objects":              {200, 100, "example.org/app.kubernetes.io=v7", 200, false},
		"values that differ":       {1500, 1500, "example.org/app.kubernetes.io=v7", 200, false},
		"a set":                    {1500, 100, "example.org/app.kubernetes.io in (v7,v8)", 200, false},
		"without the label":        {1500, 100, "!example.org/app.kubernetes.io", 200, false},
		"another than":             {1500, 100, "example.org/app.kubernetes.io!=v7", 200, false},
		"a label that nothing has": {1500, 100, "none=v7", 40, true},
		"the empty value":          {1500, 100, "example.org/app.kubernetes.io=", 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				for i := range c.objects {
					s.Put(testobj.ConfigMap(fmt.Sprintf("ns/o%04d", i), testobj.Labels(fmt.Sprintf("example.org/app.kubernetes.io=v%d", i%c.values))))
				}
				in := newInformer(t, s)
				defer start(t, in)()
				synctest.Wait()
				want := listed(t, in, "", c.selector, nil)
				for range c.lists {
					if got := listed(t, in, "", c.selector, nil); !slices.Equal(got, want) {
						t.Fatalf("%d objects, want %d", len(got), len(want))
					}
					synctest.Wait()
				}
				if got := len(in.Figures().LabelIndexes) > 0; got != c.want {
					t.Errorf("an index is there: %v, want %v: %v", got, c.want, in.Figures().LabelIndexes)
				}
			})
		})
	}
}

// With an index of labels or without, while it is made and when it has gone: a list has what its labels select. Objects
// and selectors are drawn.
func TestListsByLabelsAreRight(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { listsByLabels(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func listsByLabels(t *testing.T, random *rand.Rand) {
	s := newServer()
	objects := map[object.Key]labels.Set{}
	draw := func() {
		key := object.Key{Namespace: fmt.Sprint("n", random.IntN(3)), Name: fmt.Sprintf("o%04d", random.IntN(1200))}
		if objects[key] != nil && random.IntN(4) == 0 {
			delete(objects, key)
			s.Delete(key)
			return
		}
		set := labels.Set{}
		for _, label := range []string{"app", "tier", "app.kubernetes.io/name"} {
			if random.IntN(4) > 0 {
				set[label] = []string{fmt.Sprint("v", random.IntN(60)), ""}[random.IntN(20)/19]
			}
		}
		var all []string
		for k, v := range set {
			all = append(all, k+"="+v)
		}
		objects[key] = set
		s.Put(testobj.ConfigMap(key.String(), testobj.Labels(all...)))
	}
	for range 2500 {
		draw()
	}
	in := newInformer(t, s)
	if err := in.AddIndex("first", informer.IndexFunc(func(c *corev1.ConfigMap) []string { return []string{c.Name[:2]} })); err != nil {
		t.Fatal(err)
	}
	defer start(t, in)()
	synctest.Wait()
	made, gone := false, false
	for range 600 {
		label := []string{"app", "tier", "app.kubernetes.io/name"}[random.IntN(3)]
		selector := fmt.Sprintf("%s=v%d", label, random.IntN(62))
		switch random.IntN(8) {
		case 0:
			selector += ",tier"
		case 1:
			selector = label + "="
		case 2:
			selector += fmt.Sprintf(",app in (v%d)", random.IntN(4))
		}
		ns := []string{"", "", "n1"}[random.IntN(3)]
		sel, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		var where store.Cond
		if random.IntN(4) == 0 {
			where = store.Is("first", "o1")
		}
		var want []string
		for key, set := range objects {
			if (ns == "" || key.Namespace == ns) && sel.Matches(set) && (where == nil || key.Name[:2] == "o1") {
				want = append(want, key.String())
			}
		}
		slices.Sort(want)
		if got := listed(t, in, ns, selector, where); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", selector, ns, got, want)
		}
		for range random.IntN(6) {
			draw()
		}
		if random.IntN(2) == 0 {
			synctest.Wait()
		} else {
			s.Bookmark()
		}
		if random.IntN(150) == 0 {
			time.Sleep(20 * time.Minute)
		}
		synctest.Wait()
		n := len(in.Figures().LabelIndexes)
		gone = gone || made && n == 0
		made = made || n > 0
	}
	if !made {
		t.Error("no index was made")
	}
	t.Logf("an index was dropped: %v", gone)
}

// An index that nobody uses goes, and its memory with it. One that is used stays.
func TestUnusedLabelIndexGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		for i := range 1500 {
			s.Put(testobj.ConfigMap(fmt.Sprintf("ns/o%04d", i), testobj.Labels(fmt.Sprintf("app=v%d", i%100))))
		}
		in := newInformer(t, s)
		defer start(t, in)()
		synctest.Wait()
		before := in.Figures().Store.Held
		read := func(n int) {
			for range n {
				listed(t, in, "ns", "app=v7", nil)
				synctest.Wait()
			}
		}
		read(40)
		with := in.Figures()
		if len(with.LabelIndexes) != 1 || with.LabelIndexes[0] != "app" || with.Store.Held <= before {
			t.Fatalf("%v, %d bytes held, %d without it", with.LabelIndexes, with.Store.Held, before)
		}
		for range 3 {
			time.Sleep(10 * time.Minute)
			read(1)
			s.Put(testobj.ConfigMap("ns/other"))
			synctest.Wait()
			time.Sleep(time.Second)
		}
		if in.Figures().LabelIndexes == nil {
			t.Fatal("an index that is used has gone")
		}
		time.Sleep(16 * time.Minute)
		s.Put(testobj.ConfigMap("ns/other", testobj.Data("k", "v")))
		synctest.Wait()
		time.Sleep(time.Second)
		if f := in.Figures(); f.LabelIndexes != nil || f.Store.Held >= with.Store.Held {
			t.Errorf("%v, %d bytes held", f.LabelIndexes, f.Store.Held)
		}
		read(40)
		if in.Figures().LabelIndexes == nil {
			t.Error("it does not come back")
		}
	})
}
