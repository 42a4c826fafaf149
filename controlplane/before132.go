//go:build before1.32

package main

import (
	"context"

	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

func complete(_ context.Context, s *apioptions.ServerRunOptions) (apioptions.CompletedOptions, error) {
	return s.Complete()
}
