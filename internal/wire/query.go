package wire

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListQuery says which state a list shows, and which page of it to read.
type ListQuery struct {
	// ResourceVersion and Match are as the API defines them: "" is the latest state, "0" any.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Limit is the maximum number of objects in the answer. Zero or negative: no limit.
	Limit int64
	// Continue is the token of the previous page. ResourceVersion must then be empty.
	Continue string
}

// WatchQuery says where a watch starts.
type WatchQuery struct {
	// ResourceVersion is the version after which the events start. Empty or "0": the server first
	// sends the objects that exist, as Added events.
	ResourceVersion string
	// SendInitialEvents asks for a streaming list. The server sends all objects as Added events, in
	// a state not older than ResourceVersion, then a bookmark with InitialEventsEnd, then the
	// watch.
	SendInitialEvents bool
	// Timeout is when the server ends the watch, in whole seconds. Zero: the server chooses, some
	// 30 to 60 minutes.
	Timeout time.Duration
}
