import { registryIntervals } from "../../packages/core/src/registry/process-registry.ts";

// Suites that look at all keys of a server, or count what is sent to it, may last longer than ten seconds. Those that are about
// the registry write it when they want to.
registryIntervals().firstMs = 2 ** 30;
