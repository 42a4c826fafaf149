package v2

import "strings"

// ParseImage takes an image as version v1 has it apart: REPOSITORY[:TAG][@DIGEST].
func ParseImage(s string) (i Image) {
	s, i.Digest, _ = strings.Cut(s, "@")
	i.Repository = s
	// A colon before a slash belongs to the port of a host.
	if colon := strings.LastIndexByte(s, ':'); colon > strings.LastIndexByte(s, '/') {
		i.Repository, i.Tag = s[:colon], s[colon+1:]
	}
	return i
}

// String puts it together again.
func (i Image) String() string {
	s := i.Repository
	if i.Tag != "" {
		s += ":" + i.Tag
	}
	if i.Digest != "" {
		s += "@" + i.Digest
	}
	return s
}
