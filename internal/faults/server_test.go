package faults_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/reflector"
)

// The server dies and restarts on the same data. A watch continues at its version, if the server
// knows that version.
func TestFault01APIServerRestart(t *testing.T) {
	tier.Audit(t, "kills a control plane")
	parallel(t)
	p := hurtable(t)
	r := start(t, p, setup{})
	r.during(func() {
		p.Kill()
		if err := p.Restart(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.churn(40)
	r.nothingLost()
	lists := r.watch().Relists
	expired := lists["expired"] // a server that has just started may not know our version
	if lists["first"] != 1 || expired > 1 || len(lists) > 1+expired {
		t.Errorf("lists: %v", lists)
	}
	if n := r.asked.total()["list configmaps"]; n > 1+expired {
		t.Errorf("%d lists", n)
	}
}

// The server stops with its connections open, as on an overloaded host.
func TestFault03APIServerStopped(t *testing.T) {
	tier.Audit(t, "stops a control plane")
	parallel(t)
	p := hurtable(t)
	r := start(t, p, setup{tune: sooner})
	must(t, p.Pause())
	stopped := time.Now()
	r.await("noticed", func(s reflector.State) bool { return s.Phase == reflector.Stale })
	noticed := time.Since(stopped)
	if noticed > silenceNoticed() {
		t.Errorf("noticed after %v", noticed)
	}
	// Reads return the last state.
	n := 0
	for _, err := range client.List[corev1.ConfigMap](t.Context(), r.mgr.Client(), client.InNamespace(r.ns)) {
		must(t, err)
		n++
	}
	if n == 0 {
		t.Error("reads do not answer while the server stands still")
	}
	pause := time.NewTimer(pick(time.Minute, 12*time.Second) - time.Since(stopped))
	<-pause.C
	must(t, p.Continue())
	r.churn(80)
	r.nothingLost()
	t.Logf("noticed after %v", noticed.Round(time.Millisecond))
	if n := len(r.watch().Relists); n != 1 {
		t.Errorf("lists: %v", r.watch().Relists)
	}
}

// The data of the server is restored from a backup. Versions go back, and later writes are lost.
func TestFault12RestoredFromBackup(t *testing.T) {
	tier.Audit(t, "restores a control plane")
	parallel(t)
	p := hurtable(t)
	r := start(t, p, setup{tune: sooner})
	backup, err := p.Snapshot()
	must(t, err)
	r.churn(200)
	r.nothingLost() // nothing changes now, so that no observer records an old version in the new book
	r.newBook()
	must(t, p.Restore(t.Context(), backup))
	r.adopt()
	r.seen() // every key, by every observer, again
	r.churn(80)
	r.nothingLost()
	if n := r.watch().Relists["went back"]; n != 1 {
		t.Errorf("relists: %v", r.watch().Relists)
	}
}

// adopt takes the server's state as the truth, for the book and for the writers.
func (r *rig) adopt() {
	r.Helper()
	for _, w := range r.writers {
		clear(w.mine)
	}
	for o, err := range client.List[corev1.ConfigMap](r.Context(), r.direct, client.InNamespace(r.ns)) {
		must(r.T, err)
		r.book.Wrote(o)
		for _, w := range r.writers {
			if w.owns(o.Name) {
				w.mine[o.Name] = o
			}
		}
	}
}

// silenceNoticed bounds the time until a silent watch is noticed. By the real clock it only tells it from the end of the
// watch, which comes from the server after five minutes or more.
func silenceNoticed() time.Duration { return span(45*time.Second, 2*time.Minute) }

// sooner makes a silent watch be noticed in seconds, except in a long run and in a bubble.
func sooner(c *reflector.Options) {
	if !long && !inBubble() {
		c.Silence = 2 * time.Second
	}
}
