package flyball

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/option"
)

// Beyond loopback the probes show which check fails, and not why, unless an option says so.
func TestProbesWithholdReasons(t *testing.T) {
	for _, tt := range []struct {
		addr    string
		reasons Reasons
		told    bool
	}{
		{"127.0.0.1:0", ReasonsOnLoopback, true},
		{":0", ReasonsOnLoopback, false},
		{":0", ReasonsShown, true},
		{"127.0.0.1:0", ReasonsWithheld, false},
	} {
		t.Run(fmt.Sprint(tt.addr, " ", tt.reasons), func(t *testing.T) {
			m := newAPI(t).manager(t, Options{Probes: Endpoint{Addr: tt.addr}, ProbeReasons: tt.reasons})
			if _, err := m.Ready().Add("orders", func(context.Context) error { return errors.New("inner life") }); err != nil {
				t.Fatal(err)
			}
			up(t, m)
			at := fmt.Sprintf("http://127.0.0.1:%d", m.Addrs().Probes.(*net.TCPAddr).Port)
			for _, path := range []string{"/readyz", "/readyz?verbose", "/readyz/orders", "/readyz/orders?verbose"} {
				code, text := get(t, at+path)
				if code != 503 || !strings.Contains(text, "[-]orders failed: ") || strings.Contains(text, "inner life") != tt.told {
					t.Errorf("%s: %d %q", path, code, text)
				}
			}
		})
	}
	var bad *option.Error
	if _, err := New(Options{Config: newAPI(t).config(), ProbeReasons: 7}); !errors.As(err, &bad) || bad.Field != "ProbeReasons" {
		t.Errorf("%v", err)
	}
}

// A probe reads each watch once.
func BenchmarkReadyz(b *testing.B) {
	for _, watches := range []int{30, 300} {
		b.Run(fmt.Sprint(watches), func(b *testing.B) {
			m := manyWatches(b, watches)
			for b.Loop() {
				if m.Ready().Err(b.Context()) == nil {
					b.Fatal("ready, though nothing runs")
				}
			}
		})
	}
}

// manyWatches is a manager that does not run, with n watches that have not synced.
func manyWatches(t testing.TB, n int) *Manager {
	m := newAPI(t).manager(t, Options{})
	for i := range n {
		sel := client.Selection{Labels: labels.SelectorFromSet(labels.Set{"n": fmt.Sprint(i)})}
		h, err := m.Cache().Open(t.Context(), &corev1.Pod{}, sel)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
	}
	return m
}

// Frequent probes run the checks once a second.
func TestProbesRepeatTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAPI(t).manager(t, Options{})
		asked := 0
		if _, err := m.Ready().Add("count", func(context.Context) error { asked++; return errors.New("no") }); err != nil {
			t.Fatal(err)
		}
		up(t, m)
		synctest.Wait() // the last phase has started, which ends the answers
		for second := 1; second <= 3; second++ {
			for range 100 {
				if code, _ := probed(t, m, "/readyz?verbose"); code != http.StatusServiceUnavailable {
					t.Errorf("%d", code)
				}
			}
			if asked != second {
				t.Errorf("asked %d times in second %d", asked, second)
			}
			time.Sleep(probeAge)
		}
	})
}
