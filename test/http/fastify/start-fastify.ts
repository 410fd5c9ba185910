import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { SendRequest } from "../support/send-request.ts";
import { createHttpClient } from "../support/send-request.ts";

/** The members of an application that are needed to start it, whatever its server and types. */
interface Startable {
  listen(options: { host: string; port: number }): Promise<string>;
  close(): PromiseLike<unknown>;
  addresses(): (AddressInfo | string)[];
}

/** Boots an application as its users do, and returns a function that sends it requests; it is closed with the test. */
export async function start(app: Startable): Promise<SendRequest> {
  onTestFinished(async () => {
    await app.close();
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { sendRequest, end } = createHttpClient({
    port: (app.addresses()[0] as AddressInfo).port,
  });
  onTestFinished(end);
  return sendRequest;
}
