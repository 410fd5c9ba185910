import { createLimiter, gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import type { AnyRequest } from "../http/support/framework.ts";
import { requestOf, sendRaw } from "./raw-http.ts";

/** Handlers hand limiters what clients sent, and the frameworks' own error handlers send messages to clients. */

const MARK = "s3cr3t";

const header = ({ headers }: AnyRequest) => headers["x-key"] as string | undefined;

describeAdapters(({ serve }) => {
  test("no error of a limiter repeats the input of a handler", async () => {
    const one = createLimiter({ limits: gcra({ limit: 1, window: "1h" }) });
    const two = createLimiter({
      limits: [gcra({ limit: 1, window: "1h" }), gcra({ limit: 1, window: "1h", per: "tenant" })],
    });
    const asks: Record<string, (text: string) => Promise<unknown>> = {
      "/dimensions": (text) => two.consume(text),
      "/list": (text) => one.consume([text] as never),
      "/cost": (text) => one.consume("ann", { cost: text as never }),
      "/cost-list": (text) => one.peek("ann", { cost: [text] as never }),
      "/wait-cost": (text) => one.wait("ann", { cost: text as never }),
      "/timeout": (text) => one.wait("ann", { timeout: text as never }),
      "/refund": (text) => one.refund(text as never),
      "/reset": (text) => two.reset({ default: [text] as never }),
    };
    const routes = Object.entries(asks).map(([path, ask]) => {
      return [path, { handle: (request: AnyRequest) => ask(header(request) as string) }] as const;
    });
    const { port } = await serve({ ownErrorHandler: false, routes: Object.fromEntries(routes) });
    const leaks: string[] = [];
    for (const path of Object.keys(asks)) {
      const answer = await sendRaw(port, requestOf(path, `X-Key: ${MARK}`));
      expect([path, answer.status]).toEqual([path, 500]);
      if (answer.bytes.includes(MARK)) leaks.push(path);
    }
    expect(leaks).toEqual([]);
  });
});
