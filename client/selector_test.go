package client

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/wire"
)

// A selector that matches nothing is not sent: the server would select everything.
func TestSelectorOfNothingIsNotSent(t *testing.T) {
	for name, o := range map[string]Selection{
		"labels": {Labels: labels.Nothing()}, "fields": {Fields: fields.Nothing()},
	} {
		f := newFake(t)
		c := f.client(Options{})
		got, errs := names(t, List[corev1.Pod](t.Context(), c, MatchingLabels{"a": "b"}, MatchingFields{"metadata.name": "x"}, o, MatchingLabels{"c": "d"}))
		if len(got)+len(errs) > 0 {
			t.Errorf("%s: list: %v, %v", name, got, errs)
		}
		if err := DeleteAll[corev1.Pod](t.Context(), c, InNamespace("web"), o); err != nil {
			t.Errorf("%s: delete: %v", name, err)
		}
		if _, err := Watch[corev1.Pod](t.Context(), c, o); !is[*ArgumentError](err) {
			t.Errorf("%s: watch: %v", name, err)
		}
		if _, err := c.Feed(podGVK, o).List(t.Context(), wire.ListQuery{}); !is[*ArgumentError](err) {
			t.Errorf("%s: feed: %v", name, err)
		}
		if f.count() != 0 {
			t.Errorf("%s: %d requests were sent", name, f.count())
		}
	}
}

// Label selectors are validated before they are sent: the server ends a value at a comma.
func TestLabelsAreValidatedBeforeTheyAreSent(t *testing.T) {
	sent := 0
	for name, set := range map[string]labels.Set{
		"two in one": {"a": "b,c=d"}, "a space": {"a": "b c"}, "key": {"a,b": "c"}, "exists": {"a": "b,!c"}, "not UTF-8": {"a": "\xff"},
		"fine": {"a": "b", "example.com/c": ""},
	} {
		f := newFake(t)
		f.on("GET /api/v1/pods", podList("5", ""))
		f.on("GET /api/v1/namespaces/web/pods", text(200, "application/json;stream=watch", ""))
		f.on("DELETE /api/v1/namespaces/web/pods", text(200, "application/json", "{}"))
		c, o := f.client(Options{}), Selection{Labels: labels.SelectorFromSet(set)}
		_, errs := names(t, List[corev1.Pod](t.Context(), c, o))
		errs = append(errs, DeleteAll[corev1.Pod](t.Context(), c, InNamespace("web"), o))
		w, err := Watch[corev1.Pod](t.Context(), c, InNamespace("web"), o)
		if err == nil {
			w.Stop()
		}
		_, listed := c.Feed(podGVK, o).List(t.Context(), wire.ListQuery{})
		for _, err := range append(errs, err, listed) {
			if is[*ArgumentError](err) == (name == "fine") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if name != "fine" {
			sent += f.count()
		} else if f.count() == 0 {
			t.Error("nothing was sent")
		}
	}
	if sent != 0 {
		t.Errorf("%d requests were sent", sent)
	}
}

func TestSelectorsAddUp(t *testing.T) {
	sel := labels.SelectorFromSet(labels.Set{"tier": "a"})
	var o ListOptions
	err := o.Apply(MatchingLabels{"app": "x"}, LabelSelector("env in (p, q)"), Selection{Labels: sel}, Selection{}, ListOptions{Limit: 2},
		MatchingFields{"metadata.name": "n"}, FieldSelector("spec.nodeName!=m"))
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Labels.String(); got != "app=x,env in (p,q),tier=a" {
		t.Errorf("labels %q", got)
	}
	if o.Limit != 2 {
		t.Errorf("limit %d", o.Limit)
	}
	if got := o.Fields.String(); got != "metadata.name=n,spec.nodeName!=m" {
		t.Errorf("fields %q", got)
	}
	f := newFake(t)
	for name, bad := range map[string]interface {
		ListOption
		WriteOption
	}{
		"label": LabelSelector("a in ("), "field": FieldSelector("a"), "label value": MatchingLabels{"a": "no spaces"}, "label key": MatchingLabels{"\xff": "x"},
		"no owner": OwnedBy(""), "an owner": OwnedBy("u"), "fields": MatchingFields{"a": "\xff"}, "field text": FieldSelector("a=\xff"),
	} {
		_, errs := names(t, List[corev1.Pod](t.Context(), f.client(Options{}), bad))
		if len(errs) != 1 || !is[*ArgumentError](errs[0]) {
			t.Errorf("%s: got %v", name, errs)
		}
		if err := DeleteAll[corev1.Pod](t.Context(), f.client(Options{}), bad); !is[*ArgumentError](err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.count() != 0 {
		t.Error("a request was sent")
	}
}

func FuzzSelectors(f *testing.F) {
	for _, s := range []string{"", "a=b", "a in (b, c)", "!a", "a notin (", "x\xff=y", "a=b,c!=d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, opt := range []ListOption{LabelSelector(s), FieldSelector(s)} {
			var o ListOptions
			err := o.Apply(opt)
			if err != nil && !is[*ArgumentError](err) {
				t.Fatalf("got %T", err)
			}
			if err != nil {
				continue
			}
			if some, err := selects(&o.Selection); err != nil || !some {
				t.Fatalf("%q matches nothing: %v", s, err)
			}
		}
	})
}
