package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

const (
	one   = "11111111-1111-1111-1111-111111111111"
	two   = "22222222-2222-2222-2222-222222222222"
	three = "33333333-3333-3333-3333-333333333333"
)

// view returns a view with objects: pairs of a name and the JSON after the name.
func view(objects ...string) core.View {
	s := core.New(core.Options{})
	var all []*core.Object
	for i := 0; i < len(objects); i += 2 {
		text := fmt.Sprintf(`{"kind":"Secret","metadata":{"name":%q,%s}`, objects[i], objects[i+1])
		all = append(all, &core.Object{Key: "/core/secrets/default/" + objects[i], Version: uint64(10 + i), JSON: []byte(text)})
	}
	s.Fill(all...)
	return s.Now()
}

func meta(uid, more string) string { return `"uid":"` + uid + `",` + more + `"generation":1}` }

// What differs between two runs by chance is no difference; all else is.
func TestDiffer(t *testing.T) {
	empty := view()
	for name, c := range map[string]struct {
		want, got core.View
		options   Options
		strict    bool
		differs   string
	}{
		"uids, versions and times": {
			want: view("a", meta(one, `"creationTimestamp":"2000-01-01T00:00:10Z","resourceVersion":"5",`)+`,"status":{"at":"2000-01-01T00:00:10Z"}`),
			got:  view("a", meta(two, `"creationTimestamp":"2000-01-01T00:10:10Z","resourceVersion":"6",`)+`,"status":{"at":"2000-01-01T00:10:10Z"}`),
		},
		"an owner": {
			want: view("a", meta(one, ""), "b", meta(two, `"ownerReferences":[{"uid":"`+one+`"}],`)),
			got:  view("a", meta(three, ""), "b", meta(one, `"ownerReferences":[{"uid":"`+three+`"}],`)),
		},
		"an owner that is gone": {
			want:    view("a", meta(one, ""), "b", meta(two, `"ownerReferences":[{"uid":"`+one+`"}],`)),
			got:     view("a", meta(three, ""), "b", meta(two, `"ownerReferences":[{"uid":"`+one+`"}],`)),
			differs: "secrets/default/b differs",
		},
		"a value": {
			want: view("a", meta(one, "")+`,"data":{"x":"1"}`), got: view("a", meta(one, "")+`,"data":{"x":"2"}`), differs: "secrets/default/a differs",
		},
		"an empty status": {
			want: view("a", meta(one, "")+`,"status":{}`), got: view("a", meta(one, "")),
		},
		"another empty field": {
			want: view("a", meta(one, "")+`,"spec":{}`), got: view("a", meta(one, "")), differs: "secrets/default/a differs",
		},
		"a value that is ignored": {
			want: view("a", meta(one, "")+`,"data":{"x":"1"}`), got: view("a", meta(one, "")+`,"data":{"x":"2"}`), options: Options{Ignore: []string{"Secret data.x"}},
		},
		"a value that is ignored for another kind": {
			want: view("a", meta(one, "")+`,"data":{"x":"1"}`), got: view("a", meta(one, "")+`,"data":{"x":"2"}`), options: Options{Ignore: []string{"Pod data.x"}}, differs: "secrets/default/a differs",
		},
		"any value": {
			want: view("a", meta(one, "")+`,"data":{"x":{"t":1},"y":{"t":2}}`), got: view("a", meta(one, "")+`,"data":{"x":{"t":3},"y":{"t":4}}`), options: Options{Ignore: []string{"data.*.t"}},
		},
		"missing":   {want: view("a", meta(one, "")), got: view(), differs: "secrets/default/a is missing"},
		"left over": {want: view(), got: view("a", meta(one, "")), differs: "secrets/default/a is left over"},
		"skipped":   {want: view(), got: view("a", meta(one, "")), options: Options{Skip: func(key string) bool { return strings.Contains(key, "secrets") }}},
		"generated names": {
			want: view("a-x1", meta(one, `"generateName":"a-",`), "b", meta(two, "")+`,"data":{"of":"a-x1"}`),
			got:  view("a-y2", meta(three, `"generateName":"a-",`), "b", meta(two, "")+`,"data":{"of":"a-y2"}`),
		},
		"one generated name more": {
			want: view("a-x1", meta(one, `"generateName":"a-",`)), got: view("a-x1", meta(one, `"generateName":"a-",`), "a-x2", meta(two, `"generateName":"a-",`)), differs: "secrets/default/a-<2> is left over",
		},
		"an observed generation": {
			want: view("a", meta(one, "")+`,"status":{"observedGeneration":1}`), got: view("a", strings.Replace(meta(one, ""), `"generation":1`, `"generation":3`, 1)+`,"status":{"observedGeneration":3}`),
		},
		"an old observed generation": {
			want: view("a", meta(one, "")+`,"status":{"observedGeneration":1}`), got: view("a", strings.Replace(meta(one, ""), `"generation":1`, `"generation":3`, 1)+`,"status":{"observedGeneration":1}`), differs: "secrets/default/a differs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := Differ(Of(c.want, empty, 0, c.options), Of(c.got, empty, 0, c.options), c.strict)
			switch {
			case c.differs == "" && len(all) > 0:
				t.Errorf("%v: want %s, got %s", all, all[0].Want, all[0].Got)
			case c.differs != "" && (len(all) != 1 || all[0].String() != c.differs):
				t.Errorf("%v, want %s", all, c.differs)
			}
		})
	}
}

// An object that was made anew without a fault has to be made anew, if that is asked.
func TestMadeAnew(t *testing.T) {
	before, anew := view("a", meta(one, "")), view("a", meta(two, ""))
	want, got := Of(anew, before, 0, Options{}), Of(before, before, 0, Options{})
	if all := Differ(want, got, true); len(all) != 1 || all[0].What != "was not made anew" {
		t.Errorf("%v", all)
	}
	if all := Differ(want, got, false); len(all) != 0 {
		t.Errorf("%v", all)
	}
	if all := Differ(got, want, true); len(all) != 0 {
		t.Errorf("who makes it anew more often: %v", all)
	}
}

// Where an object may have been made otherwise, what is empty is as what is not there, and the hash of an apply is not
// compared; all else is.
func TestLoose(t *testing.T) {
	of := func(text string, loose bool) string {
		return newForm(&core.Object{Key: "/core/secrets/default/a", JSON: []byte(text)}, Options{Loose: loose}).text
	}
	const plain = `{"kind":"Secret","metadata":{"name":"a"}}`
	for _, c := range []struct {
		text string
		same bool
	}{
		{`{"kind":"Secret","metadata":{"name":"a"},"spec":{}}`, true}, // an empty status is always as none
		{`{"kind":"Secret","metadata":{"name":"a","annotations":{"flyball.io/applied":"x"}},"status":{"a":{"b":[]},"c":null}}`, true},
		{`{"kind":"Secret","metadata":{"name":"a","annotations":{"other":"x"}}}`, false},
		{`{"kind":"Secret","metadata":{"name":"a"},"data":{"a":""}}`, false},
		{`{"kind":"Secret","metadata":{"name":"a"},"list":[{}]}`, false},
	} {
		if got := of(c.text, true) == of(plain, true); got != c.same {
			t.Errorf("%s: the same: %v", c.text, got)
		}
		if of(c.text, false) == of(plain, false) {
			t.Errorf("%s: the same where it must not be", c.text)
		}
	}
}
