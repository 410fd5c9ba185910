import { rounded } from "./statistics.mjs";

/** Before the compiler has optimised the code, a round does not count. */
const WARM_UPS = 1;

/**
 * Measures each in turn, round after round, so that whatever disturbs the machine for a while disturbs all of them. A process
 * that slept during the turns of the others has lost its caches, which no process under load has: it measures twice, and the
 * second time counts. Each `measure` resolves with numbers by name; the rows get all values of a name as one list, in the
 * order of the rounds.
 */
export async function measureInRounds({ rounds, isQuick }, subjects) {
  const taken = subjects.map(() => []);
  for (let round = -WARM_UPS; round < rounds; round += 1) {
    for (let i = 0; i < subjects.length; i += 1) {
      // A different one begins each round, so that none always runs after the same one.
      const at = (i + round + WARM_UPS) % subjects.length;
      if (!isQuick) await subjects[at].measure();
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
