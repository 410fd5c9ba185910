// The limiter without HTTP: at most 3 mails to one person in any hour, whatever wants to send them.
//
//   npx -y pnpm@10.34.9 build
//   node examples/without-http/main.mjs

import { createLimiter, slidingLog } from "@headgate/core";

const mails = createLimiter({ name: "mails", limits: slidingLog({ limit: 3, window: "1h" }) });

/** @param {string} person @param {string} subject */
async function send(person, subject) {
  const decision = await mails.consume(person);
  if (!decision.allowed) {
    // A denial is a value, not an exception, and says when to come back.
    const minutes = Math.ceil(decision.retryAfterMs / 60_000);
    console.log(`${person}: not sent, "${subject}" may go in ${minutes} minutes`);
    return;
  }
  if (subject === "bounces") {
    // It did not count: give it back.
    const refunded = await mails.refund(decision);
    console.log(`${person}: bounced, refunded: ${refunded}`);
    return;
  }
  console.log(`${person}: sent "${subject}", ${decision.remaining} left`);
}

await send("ada", "welcome");
await send("ada", "bounces");
await send("ada", "your order");
await send("ada", "your parcel");
await send("ada", "our newsletter");
await send("grace", "welcome");

// Peeking without a charge, and resetting the counts.
console.log(`ada may get one now: ${(await mails.peek("ada")).allowed}`);
await mails.reset("ada");
console.log(`after a reset: ${(await mails.peek("ada")).allowed}`);

await mails.close();
