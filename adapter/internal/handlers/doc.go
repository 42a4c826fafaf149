// Package handlers turns the changes of Flyball's informers into the calls of client-go's event handlers.
//
//	informer ──► Feed ──┬──► Registration: backlog ──► calls of a handler
//	                    └──► indexes by functions
//
// A [Feed] is an informer whose handlers and index functions share decoded objects. A [Registration] is one
// handler on one or more feeds: its calls are made by one goroutine, [Registration.Run].
package handlers
