//go:build !before1.34

package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
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

// streamLists has the controllers stream their lists, as from 1.35 on by default. The controller manager of 1.34
// wants to set that itself, and panics when the API server of its process has read its flags before.
func streamLists() error {
	const gate = featuregate.Feature("WatchListClient")
	if utilfeature.DefaultFeatureGate.Enabled(gate) {
		return nil
	}
	return utilfeature.DefaultMutableFeatureGate.OverrideDefaultAtVersion(gate, true, version.MajorMinor(1, 34))
}
