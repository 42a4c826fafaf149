package main

import "strings"

// exceptions are the specs that the packed cache does not pass, by a part of their name, and why.
var exceptions = map[string]string{
	"should not deep copy the object if UnsafeDisableDeepCopy is enabled": sharedObjects,
	"should be able to change object in informer cache":                   sharedObjects,
}

const sharedObjects = "it reads one object twice and wants the same memory, or its own change in it. " +
	"The packed cache has no objects to share: each read decodes a copy, which a caller may change"

func exceptionFor(failure string) string {
	name := strings.SplitN(failure, "\n", 2)[0]
	for part, reason := range exceptions {
		if strings.Contains(name, part) {
			return reason
		}
	}
	return ""
}
