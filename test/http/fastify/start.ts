import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Ask } from "../support/ask.ts";
import { askAt } from "../support/ask.ts";

/** What is needed of an application to start it, whatever its server and its types. */
interface Startable {
  listen(options: { host: string; port: number }): Promise<string>;
  close(): PromiseLike<unknown>;
  addresses(): (AddressInfo | string)[];
}

/** Boots an application as its users do and returns how to ask it; it ends with the test. */
export async function start(app: Startable): Promise<Ask> {
  onTestFinished(async () => {
    await app.close();
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { ask, end } = askAt({ port: (app.addresses()[0] as AddressInfo).port });
  onTestFinished(end);
  return ask;
}
