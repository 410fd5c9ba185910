// A stand-in for a language model: it says as many words as the prompt asks for, one after another.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

/** GET / tells what it was asked so far. */
export function createModel(): Server {
  const asked = { requests: 0, tokens: 0 };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    asked.requests += 1;
    const { prompt } = (await json(request)) as { prompt: string };
    const words = Number(/\d+/.exec(prompt)?.[0] ?? 10);
    for (let said = 0; said < words && !response.destroyed; said += 1) {
      asked.tokens += 1;
      response.write("word ");
      if (said % 10 === 0) await delay(5);
    }
    response.end();
  }

  return createServer((request, response) => {
    if (request.method === "GET") response.end(JSON.stringify(asked));
    else answer(request, response).catch(console.error);
  });
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) createModel().listen(4000);
