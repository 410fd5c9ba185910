// The OpenAI SDK at the pace of a limiter, which works for all APIs that take this SDK. Requests and tokens have a limit each. A call
// is charged the tokens that it may use, an estimate of its prompt and max_completion_tokens; OpenAI counts no more.
//
//   npx -y pnpm@10.34.9 build
//   node examples/openai/main.mjs

import { createLimiter, tokenBucket } from "@headgate/core";
import { limitFetch } from "@headgate/fetch";
import OpenAI from "openai";
import { startOpenAi } from "../providers/openai.mjs";

const REQUESTS = 600;
const TOKENS = 60_000;
const api = await startOpenAi({ requests: REQUESTS, tokens: TOKENS });

// With a store on Redis, all your processes share it.
const limiter = createLimiter({
  name: "openai",
  limits: [
    tokenBucket({ name: "requests", capacity: REQUESTS, refill: REQUESTS, every: "1m" }),
    tokenBucket({ name: "tokens", capacity: TOKENS, refill: TOKENS, every: "1m" }),
  ],
});

const openai = new OpenAI({
  baseURL: api.url,
  apiKey: "secret",
  fetch: limitFetch({
    limiter,
    key: () => "organization-1",
    cost({ body }) {
      const { messages, max_completion_tokens: most } = JSON.parse(String(body));
      return { requests: 1, tokens: Math.ceil(JSON.stringify(messages).length / 4) + most };
    },
  }),
  // Its own retries would come on top.
  maxRetries: 0,
});

const answers = await Promise.all(
  Array.from({ length: 62 }, async (_, i) => {
    const { choices } = await openai.chat.completions.create({
      model: "gpt-5-mini",
      max_completion_tokens: 1_000,
      messages: [{ role: "user", content: `What is tea? Answer ${i}.` }],
    });
    return choices[0]?.message.content;
  }),
);
const refused = api.arrivals.filter(({ status }) => status === 429).length;
console.log(`${answers.length} answers, ${refused} requests refused`);
await limiter.close();
await api.stop();
