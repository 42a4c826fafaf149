package client

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IgnoreNotFound returns nil if err says that the object does not exist, else err. It is for
// reconcilers: a deleted object is no failure to them.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
