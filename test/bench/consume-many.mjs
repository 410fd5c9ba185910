/** Makes so many calls, with `inFlight` of them at once. The subjects take turns, and each call builds its name anew. */
export async function consumeMany(limiter, { calls, inFlight, subjects, from = 0 }) {
  let next = from;
  const last = from + calls;
  let allowed = 0;
  const consumeInTurn = async () => {
    while (next < last) {
      next += 1;
      let answer;
      let isThrown = false;
      try {
        answer = await limiter.consume(`user-${next % subjects}`);
      } catch (thrown) {
        if (thrown instanceof Error) throw thrown;
        isThrown = true;
      }
      if (limiter.isAllowed(answer, isThrown)) allowed += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, calls) }, consumeInTurn));
  return allowed;
}
