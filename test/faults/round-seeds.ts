/** The number of rounds of each fault: `HEADGATE_FAULT_ROUNDS`, one by default. */
const rounds = Number(process.env["HEADGATE_FAULT_ROUNDS"] ?? 1);

/** The seed of the first round: `HEADGATE_FAULT_SEED`, by default a different one in each run. */
const first = Number(process.env["HEADGATE_FAULT_SEED"] ?? Date.now() % 1_000_000);

/** One seed for each round. The title of a test contains its seed, so that a failed round can be repeated. */
export const roundSeeds: readonly number[] = Array.from({ length: rounds }, (_, i) => first + i);
