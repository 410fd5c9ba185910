// A test process outlives a killed Vitest as long as its test runs, which may be for ever; the servers it started with it.
// Loaded with the process: suites that share one would each add a listener, and Vitest takes `process.exit` away from them.
process.once("disconnect", () => process.exit());
