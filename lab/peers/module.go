package main

import "regexp"

var (
	packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)
	runner        = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\tRegisterFailHandler`)
)
