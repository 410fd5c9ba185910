import { registryIntervals } from "../../packages/core/src/registry/process-registry.ts";

// Suites that read all keys of a server, or count its commands, may run for more than the ten seconds after which a process writes
// to the registry. Suites of the registry write it themselves.
registryIntervals().firstMs = 2 ** 30;
