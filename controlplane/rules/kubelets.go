package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/kubelet/client"
)

// kubelets is where kubelets would be. A Node that is not there is an error, as on the real server. One that is
// there runs no containers: nobody can read logs of them or connect to them.
type kubelets struct{ nodes rest.Getter }

func (k kubelets) GetConnectionInfo(ctx context.Context, name types.NodeName) (*client.ConnectionInfo, error) {
	if _, err := k.nodes.Get(ctx, string(name), &metav1.GetOptions{}); err != nil {
		return nil, err
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("no container runs on node %s: this API server is in memory, and there are no logs", name),
	}}
}

// nowhere is the network of proxies to Pods, Services and Nodes.
type nowhere struct{}

var errNowhere = errors.New("this API server is in memory, and has no network")

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNowhere }
