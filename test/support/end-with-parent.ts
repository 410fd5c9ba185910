// A test process outlives a killed Vitest as long as its test runs, which may be for ever; the servers it started with it.
process.once("disconnect", () => process.exit());
