//go:build !before1.34

package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	kcmconfig "k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

func setSegmentSize(bytes int64) { wal.SegmentSizeBytes = bytes }

func warnAfter(cfg *embed.Config, request, apply time.Duration) {
	cfg.WarningUnaryRequestDuration, cfg.WarningApplyDuration = request, apply
}

func kcmConfig(ctx context.Context, s *kcmoptions.KubeControllerManagerOptions, known, disabled []string, aliases map[string]string) (*kcmconfig.Config, error) {
	return s.Config(ctx, known, disabled, aliases)
}
