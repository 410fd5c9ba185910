// A fake language model: it says as many words as it is asked for, one after another. Yours is somebody else's server.

import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** Starts it on a free port; resolves with its URL. GET / shows what it was asked. */
export async function startModel() {
  const asked = { requests: 0, tokens: 0 };

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   */
  async function answer(request, response) {
    asked.requests += 1;
    const { prompt } = /** @type {{ prompt: string }} */ (await json(request));
    const words = Number(/\d+/.exec(prompt)?.[0] ?? 10);
    for (let said = 0; said < words && !response.destroyed; said += 1) {
      asked.tokens += 1;
      response.write("word ");
      if (said % 10 === 0) await sleep(5);
    }
    response.end();
  }

  const server = createServer((request, response) => {
    if (request.method === "GET") response.end(JSON.stringify(asked));
    else answer(request, response).catch(console.error);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return `http://127.0.0.1:${address.port}`;
}
