// Package rbac tells which permissions a program needs, and compares them with those it has.
//
//	kinds that controllers declare ── Declared ──► get, list, watch ──┐
//	requests of a test run ────────── Recorder ──► what was asked ────┼──► Rules ──► ClusterRole
//	features that no test shows ───── Leases, Events, Serving, … ─────┘      │
//	                                                                         ├── Missing ─► to be granted
//	the roles in config/rbac ──────── LoadBound ──► Rules ───────────────────┴── Excess ──► to be taken away
//
// In the tests of a project, one line for each manager (package operatortest has it):
//
//	rbac.RecordTest(t, &options.Client)      // flyball.Options
//
// writes what the test needed into the folder that FLYBALL_RBAC names, and does nothing where it
// names none. "flyball rbac --recorded FOLDER --role config/rbac" then judges the roles.
//
// Rules never hold a "*": what it grants cannot be compared with what is needed.
package rbac
