package workqueue_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/workqueue"
)

func TestAddAllAddsEachInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{
			Merge: func(old, new string) string { return old + new },
		})
		start := time.Now()
		q.Add("b")
		q.AddAll([]workqueue.Add[string, string]{
			{Key: "a", AddOptions: addOptions{Value: "1"}},
			{Key: "b", AddOptions: addOptions{Value: "2"}},
			{Key: "late", AddOptions: addOptions{After: time.Second}},
			{Key: "first", AddOptions: addOptions{Priority: 1}},
			{Key: "a", AddOptions: addOptions{Value: "3"}},
		})
		q.AddAll(nil)
		var got []string
		for range 3 {
			item, _ := q.Get(t.Context())
			got = append(got, item.Key+item.Value)
		}
		if want := "first b2 a13"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
		at(t, start, time.Second, parkGet(t.Context(), q), "late")
		q.ShutDown()
		q.AddAll([]workqueue.Add[string, string]{{Key: "z"}})
		if n := q.Len(); n != 0 {
			t.Errorf("%d added after ShutDown", n)
		}
	})
}

// Every parked Get receives one of the added items.
func TestAddAllServesParkedGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStrings(t, workqueue.Options[string, string]{})
		var gets []<-chan string
		for range 3 {
			gets = append(gets, parkGet(t.Context(), q))
		}
		q.AddAll([]workqueue.Add[string, string]{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}})
		seen := map[string]bool{}
		for _, get := range gets {
			seen[<-get] = true
		}
		if len(seen) != 3 || seen["-"] || q.Len() != 1 {
			t.Errorf("handed out %v, %d wait", seen, q.Len())
		}
	})
}

// A Merge that panics loses no other add.
func TestMergeThatPanicsLosesNoAdd(t *testing.T) {
	q := newStrings(t, workqueue.Options[string, string]{
		Merge: func(string, string) string { panic("no") },
	})
	q.Add("a")
	q.Add("b")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		q.Add("b")
	}()
	q.Add("c")
	for _, want := range []string{"a", "b", "c"} {
		if item, ok := q.Get(t.Context()); !ok || item.Key != want {
			t.Errorf("got %+v, %v, want %s", item, ok, want)
		}
	}
}

// A key that cannot be compared panics in the call that adds it, and leaves no entry.
func TestIncomparableKeyPanicsInItsAdd(t *testing.T) {
	q, err := workqueue.New(workqueue.Options[any, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	q.Add(1)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		q.Add([]int{1})
	}()
	q.Add(2)
	if n := q.Len(); n != 2 {
		t.Errorf("%d wait, want 2", n)
	}
}
