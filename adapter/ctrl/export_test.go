package ctrl

import (
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	crhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	crpredicate "sigs.k8s.io/controller-runtime/pkg/predicate"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// HandlerOf is the handler of a Watches.
func HandlerOf[T any, O crclient.Object, P object.Ptr[T]](h crhandler.TypedEventHandler[O, crreconcile.Request], predicates ...crpredicate.TypedPredicate[O]) handler.Handler[reconcile.Request] {
	return handlerOf[T, O, crreconcile.Request, reconcile.Request, P]{h, asKey, predicates}
}
