// Package option has the one error for options that cannot be used.
//
// A New of this module checks its options before it starts anything, and returns an [*Error] for the
// first wrong one. The error says which options struct or constructor, which field, and what is wrong:
//
//	_, err := leader.New(c, leader.Options{Namespace: "shop"})
//	fmt.Println(err) // leader.Options: Name: is empty
//	bad, ok := errors.AsType[*option.Error](err)
//	fmt.Println(ok, bad.Field) // true Name
package option

import "fmt"

// Error is the error for an option, or an argument of a constructor or of a call, that cannot be used. It is a
// mistake in the program or its flags. Nothing was started or sent. A retry does not help.
type Error struct {
	// Of is the options struct or the constructor: "leader.Options" or "leader.New". If the thing to
	// be made has a name, Of is its kind and name: `controller "pods"`. For a call it is the package: "child".
	Of string
	// Field of the options, with dots where it is nested ("Webhooks.CertDir"), or an argument of the
	// constructor: "client", "Watches(*v1.Pod)".
	Field string
	// Err is what is wrong with it. It is never nil.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Of, e.Field, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
