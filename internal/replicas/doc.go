// Package replicas is several API servers over one state, as the control planes of clusters have them, for
// tests. The servers differ in what they serve, how far their memory is behind the storage, and their
// clocks. They restart one after another, and a balancer in front of them sends each connection or each
// request to any of them.
//
//	writers ──► State ──► Server 1 (memory: 5 s behind, no Deployments) ──┐
//	              │  └──► Server 2 (restarts)                           ──┼─► Balancer ──► client
//	              └─────► Server 3                                      ──┘
//
// Everything runs within a synctest bubble, with real net/http over net.Pipe.
package replicas
