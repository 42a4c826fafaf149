package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/object"
)

func obj(name, uid, version string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}
}

func TestCheckNamesDifferences(t *testing.T) {
	a := object.Key{Name: "a"}
	for _, tc := range []struct {
		name string
		do   func(l *ledger.Ledger, v *ledger.View)
		want string // part of the error; empty: none
	}{
		{"nothing", func(*ledger.Ledger, *ledger.View) {}, ""},
		{"seen", func(l *ledger.Ledger, v *ledger.View) { l.Wrote(obj("a", "1", "5")); v.Saw(obj("a", "1", "5")) }, ""},
		{"seen newer", func(l *ledger.Ledger, v *ledger.View) { l.Wrote(obj("a", "1", "5")); v.Saw(obj("a", "1", "7")) }, ""},
		{"never seen", func(l *ledger.Ledger, v *ledger.View) { l.Wrote(obj("a", "1", "5")) }, "a was never seen"},
		{"seen older", func(l *ledger.Ledger, v *ledger.View) { l.Wrote(obj("a", "1", "10")); v.Saw(obj("a", "1", "9")) }, "last seen at 9"},
		{"answers out of order", func(l *ledger.Ledger, v *ledger.View) {
			l.Wrote(obj("a", "1", "10"))
			l.Wrote(obj("a", "1", "9"))
			v.Saw(obj("a", "1", "9"))
		}, "last seen at 9"},
		{"back in time", func(l *ledger.Ledger, v *ledger.View) {
			v.Saw(obj("a", "1", "7"))
			v.Saw(obj("a", "1", "6"))
			v.Saw(obj("a", "1", "8"))
		}, "back from version 7 to 6"},
		{"a new object starts anew", func(l *ledger.Ledger, v *ledger.View) {
			v.Saw(obj("a", "1", "7"))
			v.Saw(obj("a", "2", "6"))
		}, ""},
		{"missed delete", func(l *ledger.Ledger, v *ledger.View) {
			l.Wrote(obj("a", "1", "5"))
			v.Saw(obj("a", "1", "5"))
			l.Deleted(a, "1")
		}, "a is gone"},
		{"delete seen", func(l *ledger.Ledger, v *ledger.View) {
			l.Wrote(obj("a", "1", "5"))
			v.Saw(obj("a", "1", "5"))
			l.Deleted(a, "1")
			v.Gone(a)
		}, ""},
		{"came and went unseen", func(l *ledger.Ledger, v *ledger.View) {
			l.Wrote(obj("a", "1", "5"))
			l.Deleted(a, "1")
		}, ""},
		{"answer of a write after that of the delete", func(l *ledger.Ledger, v *ledger.View) {
			l.Deleted(a, "1")
			l.Wrote(obj("a", "1", "5"))
		}, ""},
		{"made again, not seen", func(l *ledger.Ledger, v *ledger.View) {
			l.Wrote(obj("a", "1", "5"))
			v.Saw(obj("a", "1", "5"))
			l.Deleted(a, "1")
			l.Wrote(obj("a", "2", "8"))
		}, "another object now"},
		{"seen deleted, but exists", func(l *ledger.Ledger, v *ledger.View) {
			l.Wrote(obj("a", "1", "5"))
			v.Saw(obj("a", "1", "5"))
			v.Gone(a)
		}, "but exists"},
		{"many", func(l *ledger.Ledger, v *ledger.View) {
			for i := range 30 {
				l.Wrote(obj(fmt.Sprintf("n%d", i), "1", "5"))
			}
		}, "and 20 more"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := ledger.New()
			v := l.View("handler")
			tc.do(l, v)
			err := l.Check()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Check = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWaitReturnsOnceAllAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New()
		v := l.View("handler")
		l.Wrote(obj("a", "1", "5"))
		got := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { got <- l.Wait(ctx) }()
		synctest.Wait()
		v.Saw(obj("a", "1", "5"))
		if err := <-got; err != nil {
			t.Errorf("Wait = %v", err)
		}
		l.Wrote(obj("b", "1", "6"))
		go func() { got <- l.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-got; err == nil || !strings.Contains(err.Error(), "b was never seen") {
			t.Errorf("Wait = %v", err)
		}
		if n := v.Deletes(); n != 0 {
			t.Errorf("%d deletes", n)
		}
	})
}

func TestSameNamesDifferences(t *testing.T) {
	store := []*metav1.ObjectMeta{obj("a", "1", "1"), obj("b", "1", "2"), obj("c", "1", "3")}
	if err := ledger.Same(slices.Values(store), slices.Values(store)); err != nil {
		t.Errorf("equal: %v", err)
	}
	list := []*metav1.ObjectMeta{obj("a", "1", "1"), obj("b", "1", "9"), obj("d", "1", "3")}
	err := ledger.Same(slices.Values(store), slices.Values(list))
	want := "b is at 9 (1), in the store at 2 (1)\nc is in the store, but not in the list\nd is missing in the store"
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
