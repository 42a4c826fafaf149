// Package all lists the controllers of an API server in memory.
package all

import (
	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/namespaces"
)

// Controllers are all controllers, in the order in which they are stepped. Their names and short names are those of
// kube-controller-manager.
var Controllers = append([]control.Known{
	{Name: "serviceaccount-controller", Short: "serviceaccount", New: namespaces.Accounts},
	{Name: "root-ca-certificate-publisher-controller", Short: "root-ca-cert-publisher", New: namespaces.Certificates},
}, applications...)
