package control

import "net/netip"

// PodNetwork has the addresses that the kubelet gives to Pods. Nothing listens there: no container runs.
var PodNetwork = netip.MustParsePrefix("10.64.0.0/10")
