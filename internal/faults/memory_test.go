package faults_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/reflector"
)

// The faults that the other tests make with proxies, gateways and a control plane of their own, as values, on an
// API server in memory. The program is the same, and so is the check.
func TestFaultsInMemory(t *testing.T) {
	watches := apiserver.On("watch", "configmaps")
	lists := apiserver.On("list", "configmaps")
	for name, tc := range map[string]struct {
		tune  func(*reflector.Options)
		fault func(s *apiserver.Server) *apiserver.Fault
		noted func(reflector.State) bool
	}{
		"02 a silent watch": {tune: probed, fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches, apiserver.SilentAfter(0))
		}, noted: stale},
		"04 watches that end soon": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches, apiserver.EndAfter(3))
		}, noted: restarts("ended", 3)},
		"05 a cut in a frame": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches.Times(3), apiserver.CutFrame(2))
		}, noted: restarts("broken", 3)},
		"06 a garbage frame": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches.Times(1), apiserver.InsertFrame(1, `{"type":"MODIFIED","object":{"metadata":{"name":`+"\x00\xff}}"))
		}, noted: restarts("mangled", 1)},
		"10 too many requests": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches.Times(2), apiserver.TooManyRequests(1))
		}, noted: restarts("busy", 2)},
		"11 a server that fails": {fault: func(s *apiserver.Server) *apiserver.Fault {
			s.Fail(watches.Nth(1), apiserver.Error(metav1.StatusReasonInternalError))
			return s.Fail(watches, apiserver.Error(metav1.StatusReasonServiceUnavailable))
		}, noted: restarts("failed", 3)},
		"11 a connection that is cut": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(apiserver.On("list,watch", "*"), apiserver.CutBefore)
		}, noted: stale},
		"44 events out of order": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches, apiserver.SwapEvents(1), apiserver.EndAfter(5))
		}, noted: restarts("ended", 2)},
		"36 no streaming list, and lists that fail": {fault: func(s *apiserver.Server) *apiserver.Fault {
			s.Fail(watches.Times(1), apiserver.ExpireAfter(0))
			s.Fail(lists.Times(1), apiserver.BadGateway)
			return s.Fail(watches.With("sendInitialEvents"), apiserver.Error(metav1.StatusReasonInternalError))
		}, noted: func(s reflector.State) bool { return s.Relists["expired"] == 1 && s.Phase == reflector.Synced }},
		"44 events twice, and an end": {fault: func(s *apiserver.Server) *apiserver.Fault {
			return s.Fail(watches, apiserver.RepeatEvents(1, 0), apiserver.EndAfter(5))
		}, noted: restarts("ended", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, apiserver.Options{}, func(t *testing.T, s *apiserver.Server) {
				if tc.tune == nil {
					tc.tune = steady
				}
				r := start(t, s, setup{tune: tc.tune})
				fault := tc.fault(s)
				s.Restart() // all watches are opened again
				r.during(func() {
					if err := fault.Wait(t.Context(), 1); err != nil {
						t.Error(err)
					}
					r.await("the fault", tc.noted)
				})
				fault.End()
				r.nothingLost()
			})
		})
	}
}

// probed makes a watch without news be compared with the server in seconds, except in a long run and in a bubble.
func probed(c *reflector.Options) {
	sooner(c)
	if !long && !inBubble() {
		c.Absent = time.Second
	}
}

func stale(s reflector.State) bool { return s.Phase == reflector.Stale }

func restarts(why string, n int) func(reflector.State) bool {
	return func(s reflector.State) bool { return s.Restarts[why] >= n }
}

// A server that goes back to a snapshot, as after the restore of a backup.
func TestBackupInMemory(t *testing.T) {
	bubble(t, apiserver.Options{}, func(t *testing.T, s *apiserver.Server) {
		r := start(t, s, setup{tune: func(c *reflector.Options) { c.Silence, c.Absent = 2*time.Second, time.Second }})
		snap := s.Snapshot()
		r.churn(200)
		r.nothingLost() // nothing changes now
		r.newBook()
		s.Restore(snap)
		r.adopt()
		r.seen()
		r.churn(80)
		r.nothingLost()
	})
}
