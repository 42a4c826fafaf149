package synced

import (
	"reflect"
	"testing"
)

func isDone(c interface{ Done() <-chan struct{} }) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// A signal is not set, then it is, by each way to ask.
func TestSignal(t *testing.T) {
	s := New("x")
	type checker interface {
		Name() string
		Done() <-chan struct{}
	}
	var c checker
	if m := reflect.ValueOf(s).MethodByName("HasSyncedChecker"); m.IsValid() { // from v0.36 on
		if c = m.Call(nil)[0].Interface().(checker); c.Name() != "x" {
			t.Errorf("the name is %q", c.Name())
		}
	}
	for _, want := range []bool{false, true, true} {
		if s.HasSynced() != want || isDone(s) != want || c != nil && isDone(c) != want {
			t.Errorf("synced: %v, done: %v; want %v", s.HasSynced(), isDone(s), want)
		}
		s.Set()
	}
}
