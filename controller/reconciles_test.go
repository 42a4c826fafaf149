package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

// logLines are the lines of a JSON log.
type logLines struct {
	mu   sync.Mutex
	list []map[string]any
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := map[string]any{}
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	l.list = append(l.list, line)
	return len(p), nil
}

// with are the lines with a message that begins so, of the object with a name.
func (l *logLines) with(message, object string) (found []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.list {
		if msg, _ := line["msg"].(string); strings.HasPrefix(msg, message) && line["object"] == "web/"+object {
			found = append(found, line)
		}
	}
	return found
}

// However a reconcile ends and however many run: one that takes more than a minute (66 s here) is named once with its object and
// age, and no other; each failure says when the next attempt comes; the state has the latest failure until it is mended.
func TestReconcilesAreNamed(t *testing.T) {
	type plan struct {
		takes time.Duration
		fails string
	}
	var plans []plan
	for _, takes := range []time.Duration{0, 59 * time.Second, 66 * time.Second, 10 * time.Minute} {
		for _, how := range []string{"", "error", "panic"} {
			plans = append(plans, plan{takes, how})
		}
	}
	for _, workers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			m, lines := newManager(), &logLines{}
			m.logger = slog.New(slog.NewJSONHandler(lines, nil))
			began := map[string][]time.Time{}
			var mu sync.Mutex
			r := func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
				var i int
				_, _ = fmt.Sscanf(req.Name, "p%d", &i)
				mu.Lock()
				began[req.Name] = append(began[req.Name], time.Now())
				n := len(began[req.Name])
				mu.Unlock()
				if n > 1 {
					return reconcile.Result{}, nil
				}
				time.Sleep(plans[i].takes)
				switch plans[i].fails {
				case "error":
					return reconcile.Result{}, errors.New("no such bucket")
				case "panic":
					panic("no such bucket")
				}
				return reconcile.Result{}, nil
			}
			c := newController(t, m, reconcile.Reconciler[reconcile.Request](r), controller.Options{Workers: workers}, forDeployments())
			stop := start(c)
			w := m.watch("Deployment")
			close(w.synced)
			for i, p := range plans {
				name := fmt.Sprint("p", i)
				w.set(deployment(name, 1), false)
				pass(p.takes / 2)
				if running := c.Reconciles(); p.takes > 0 && running.String() != fmt.Sprintf("web/%s for %v", name, (p.takes/2).Round(time.Second)) {
					t.Errorf("running: %q", running)
				}
				pass(p.takes/2 + time.Millisecond) // less than the first backoff
				if failed := c.Reconciles().Failed; (failed != nil) != (p.fails != "") || failed != nil && (failed.Request != key(name) || failed.Attempt != 1) {
					t.Errorf("%+v: failed %+v", p, failed)
				}
				pass(time.Minute)
				if all := c.Reconciles(); all.Failed != nil || len(all.Running) != 0 {
					t.Errorf("%+v: after all is well: %+v", p, all)
				}
				long := lines.with("reconcile takes long", name)
				if want := p.takes > time.Minute; (len(long) == 1) != want || len(long) > 1 {
					t.Errorf("%+v is named by %v", p, long)
				}
				lost := append(lines.with("reconcile failed", name), lines.with("reconcile panicked", name)...)
				if p.fails == "" {
					if len(lost) != 0 {
						t.Errorf("%+v: %v", p, lost)
					}
					continue
				}
				if len(lost) != 1 || len(began[name]) != 2 {
					t.Errorf("%+v: %d lines, %d reconciles", p, len(lost), len(began[name]))
					continue
				}
				if gap := began[name][1].Sub(began[name][0]) - p.takes; lost[0]["retry_in"] != float64(gap) || gap == 0 {
					t.Errorf("%+v: the next attempt comes after %v, the line says %v", p, gap, lost[0])
				}
			}
			stop()
		})
	}
}

// The error of a stop names the reconciles that were cancelled, with their age.
func TestStopNamesWhatItCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		r := func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			return reconcile.Result{}, nil
		}
		stop := start(newController(t, m, reconcile.Reconciler[reconcile.Request](r), controller.Options{Workers: 9}, forDeployments()))
		w := m.watch("Deployment")
		close(w.synced)
		for i := range 8 {
			w.set(deployment(fmt.Sprint("p", i), 1), false)
			pass(time.Second)
		}
		pass(time.Hour)
		err := stop()
		if !errors.Is(err, controller.ErrGraceEnded) || !strings.Contains(err.Error(), "web/p0 for 1h0m38s, web/p1 for 1h0m37s") ||
			!strings.HasSuffix(err.Error(), "and 3 more") {
			t.Errorf("the stop: %v", err)
		}
	})
}
