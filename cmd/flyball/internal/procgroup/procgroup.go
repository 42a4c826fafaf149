// Package procgroup ends a command together with the processes that it has started.
package procgroup
