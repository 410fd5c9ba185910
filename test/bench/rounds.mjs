import { rounded } from "./statistics.mjs";

/** Rounds before the compiler has optimised the code do not count, except in a quick run. */
const WARM_UPS = 2;
const QUICK_WARM_UPS = 1;

/**
 * Measures each in turn, round after round, so that whatever disturbs the machine for a while disturbs all of them. Each
 * `measure` resolves with numbers by name; the rows get all values of a name as one list, in the order of the rounds.
 */
export async function measureInRounds({ rounds, isQuick }, subjects) {
  const warmUps = isQuick ? QUICK_WARM_UPS : WARM_UPS;
  const taken = subjects.map(() => []);
  for (let round = -warmUps; round < rounds; round += 1) {
    for (let i = 0; i < subjects.length; i += 1) {
      // A different one begins each round, so that none always runs after the same one.
      const at = (i + round + warmUps) % subjects.length;
      const numbers = await subjects[at].measure();
      if (round >= 0) taken[at].push(numbers);
    }
  }
  return subjects.map(({ row }, i) => ({ ...row, ...columnsOf(taken[i]) }));
}

function columnsOf(rounds) {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, rounds.map((numbers) => rounded(numbers[name]))]),
  );
}
