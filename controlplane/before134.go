//go:build before1.34

package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/wal"
	kcmconfig "k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// Kubernetes before 1.34 goes with etcd 3.5.

func setSegmentSize(bytes int64) { wal.SegmentSizeBytes = bytes }

func warnAfter(cfg *embed.Config, _, apply time.Duration) {
	cfg.ExperimentalWarningApplyDuration = apply
}

func kcmConfig(_ context.Context, s *kcmoptions.KubeControllerManagerOptions, known, disabled []string, aliases map[string]string) (*kcmconfig.Config, error) {
	return s.Config(known, disabled, aliases)
}
