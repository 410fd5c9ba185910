// Ends a process with the one that started it, however that ended.
process.on("disconnect", () => process.exit());
