/** Asks so many times, with so many questions open at once; the subjects take turns, and each name is made anew. */
export async function keepAsking(limiter, { calls, inFlight, subjects, from = 0 }) {
  let next = from;
  const last = from + calls;
  let allowed = 0;
  const askInTurn = async () => {
    while (next < last) {
      next += 1;
      let answer;
      let isThrown = false;
      try {
        answer = await limiter.ask(`user-${next % subjects}`);
      } catch (thrown) {
        if (thrown instanceof Error) throw thrown;
        isThrown = true;
      }
      if (limiter.isAllowed(answer, isThrown)) allowed += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, calls) }, askInTurn));
  return allowed;
}
