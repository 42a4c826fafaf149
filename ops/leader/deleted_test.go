package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
)

// writing is work that writes every ten milliseconds until the fence refuses it, whatever its ctx
// says. first and last are the times of its writes.
type writing struct{ first, last time.Time }

func (w *writing) work(t *testing.T, c client.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}}
		for context.Cause(ctx) != context.Canceled {
			_, err := client.Create(context.WithoutCancel(ctx), c, cm)
			if _, kept := errors.AsType[*client.FencedError](err); kept {
				return nil
			}
			if err != nil {
				t.Error(err)
				return err
			}
			if w.last = time.Now(); w.first.IsZero() {
				w.first = w.last
			}
			time.Sleep(writePause)
		}
		return nil
	}
}

// writePause is the time between two writes.
const writePause = 25 * time.Millisecond

// The Lease is deleted, or its holder removed, while the leader's watch reports nothing. The leader
// does not write after the first write of the next leader.
func TestLeaseGoneWhileTheLeadersWatchShowsNothing(t *testing.T) {
	removals := map[string]func(*coordinationv1.Lease){
		"deleted":     nil,
		"holder out":  func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil },
		"spec out":    func(l *coordinationv1.Lease) { l.Spec = coordinationv1.LeaseSpec{} },
		"empty, kept": func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") },
	}
	for name, tc := range map[string]struct {
		standby bool // the next leader is running already
		silent  bool // its watch reports nothing either
		away    bool // the leader reaches no server any more and leads until its RenewDeadline
		wait    time.Duration
		overlap time.Duration // at most
	}{
		"standby":                           {standby: true},
		"standby, silent":                   {standby: true, silent: true},
		"standby, leader away":              {standby: true, away: true},
		"newcomer":                          {overlap: 2400*time.Millisecond + writePause}, // until the next renewal
		"newcomer, leader away":             {overlap: 10 * time.Second, away: true},
		"newcomer that waits":               {wait: 15 * time.Second},
		"newcomer that waits, leader away":  {wait: 15 * time.Second, away: true},
		"newcomer that waits for a renewal": {wait: 3 * time.Second},
	} {
		for removal, edit := range removals {
			t.Run(name+", "+removal, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer()
					cut := make(chan struct{})
					var a, b writing
					el := s.elector(t, "a", cut, Options{})
					outA := start(t.Context(), el, a.work(t, s.client(t, nil).Fenced(el.Fence())))
					time.Sleep(5 * time.Second)
					ctx, cancel := context.WithCancel(t.Context())
					var outB <-chan error
					startB := func() {
						next := s.elector(t, "b", nil, Options{AbsentWait: tc.wait})
						outB = start(ctx, next, b.work(t, s.client(t, nil).Fenced(next.Fence())))
					}
					s.silenceWatches()
					if tc.standby {
						startB()
						time.Sleep(2 * time.Second)
					}
					if tc.silent {
						s.silenceWatches()
					}
					if tc.away {
						close(cut)
					}
					gone := time.Now()
					s.edit(edit)
					if !tc.standby {
						startB()
					}
					time.Sleep(30 * time.Second) // of the bubble's clock: no event says that nobody writes
					synctest.Wait()              // a write that has begun has ended
					if b.first.IsZero() {
						t.Error("nobody has taken the lease in half a minute")
					}
					t.Logf("the next one begins after %v, the leader writes for %v more", b.first.Sub(gone), max(0, a.last.Sub(b.first)))
					if d := a.last.Sub(b.first); d > tc.overlap {
						t.Errorf("the leader wrote for %v after the first write of the next one", d)
					}
					cancel()
					<-outA
					<-outB
				})
			})
		}
	}
}
