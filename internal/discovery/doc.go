// Package discovery reads the discovery documents of an API server, and maps kinds to resources by them.
// It sends no requests: package client does. See docs/adr/0012-discovery.md.
//
//	/api, /apis ──► ReadCore, ReadGroups ──► Served ──► Mapping, Mapper, Serving
//	/apis/<group>/<version> ──► ReadResources ──┘
package discovery
