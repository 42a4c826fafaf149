// Package rbac tells which permissions a program needs, and compares them with those it has.
//
//	kinds that controllers declare ── Declared ──► get, list, watch ──┐
//	requests of a test run ────────── Recorder ──► what was asked ────┼──► Rules ──► ClusterRole
//	features that no test shows ───── Leases, Events, Serving, … ─────┘      │
//	                                                                         ├── Missing ─► to be granted
//	the role in config/rbac ───────── Parse ──────► Rules ───────────────────┴── Excess ──► to be taken away
//
// In the tests of a project, one line for each manager:
//
//	rbac.RecordTest(t, &options.Client)      // flyball.Options
//
// writes what the test needed into the folder that FLYBALL_RBAC names, and does nothing where it
// names none. "flyball rbac --recorded FOLDER --role config/rbac/role.yaml" then judges the role.
//
// Rules never hold a "*": what it grants cannot be compared with what is needed.
package rbac
