//go:build before1.34

package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	kcmconfig "k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// Kubernetes before 1.34 goes with etcd 3.5.

// setSegmentSize does nothing: the package of segments stands elsewhere in etcd 3.5, and go mod tidy wants imports to
// exist for every build tag. A segment has 64 MB then.
func setSegmentSize(int64) {}

func warnAfter(cfg *embed.Config, _, apply time.Duration) {
	cfg.ExperimentalWarningApplyDuration = apply
}

func kcmConfig(_ context.Context, s *kcmoptions.KubeControllerManagerOptions, known, disabled []string, aliases map[string]string) (*kcmconfig.Config, error) {
	return s.Config(known, disabled, aliases)
}

// streamLists does nothing: the controllers list in pages.
func streamLists() error { return nil }
