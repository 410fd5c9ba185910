// @ts-check
// An instance of a function platform: calls the handler of a module with each event that it receives.
const { handler } = await import(/** @type {string} */ (process.argv[2]));

/** @param {{ id: number, event: unknown }} message */
async function answer({ id, event }) {
  process.send?.({ id, result: await handler(event) });
}

process.on("message", (/** @type {{ id: number, event: unknown }} */ message) => {
  void answer(message);
});
process.send?.("ready");
