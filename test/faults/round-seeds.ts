/** How many rounds of each fault: `HEADGATE_FAULT_ROUNDS`, one by default. */
const rounds = Number(process.env["HEADGATE_FAULT_ROUNDS"] ?? 1);

/** The first round's seed: `HEADGATE_FAULT_SEED`, another one each time by default. */
const first = Number(process.env["HEADGATE_FAULT_SEED"] ?? Date.now() % 1_000_000);

/** One seed a round. The name of a test carries its seed, so that a failed round can be run again. */
export const roundSeeds: readonly number[] = Array.from({ length: rounds }, (_, i) => first + i);
