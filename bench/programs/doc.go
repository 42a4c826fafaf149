// Package programs has nothing of its own: below it is a program for each contender, with one
// library, which compare builds and starts. See package contend.
package programs
