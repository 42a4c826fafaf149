package leaktest

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A goroutine that ends late is no leak, and one that does not end is named.
func TestFind(t *testing.T) {
	ignored := goleak.IgnoreCurrent()
	for _, late := range []time.Duration{0, 100 * time.Millisecond, 2 * time.Second} {
		go time.Sleep(late)
		if err := find(5*time.Minute, ignored); err != nil {
			t.Errorf("%v: %v", late, err)
		}
	}
	hang := make(chan struct{})
	defer close(hang)
	go func() { <-hang }()
	if err := find(time.Millisecond, ignored); err == nil || !strings.Contains(err.Error(), "TestFind") {
		t.Errorf("got %v", err)
	}
}
