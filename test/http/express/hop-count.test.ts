import { setImmediate } from "node:timers/promises";
import { gcra } from "@headgate/core";
import { rateLimit } from "@headgate/express";
import { expect, test } from "vitest";
import { watchWarnings } from "../support/warnings.ts";
import { describeExpress } from "./describe-express.ts";

describeExpress(({ serve }) => {
  test("a number of trusted hops selects the address, and causes no warning", async () => {
    const warnings = watchWarnings();
    const { sendRequest } = await serve((app) => {
      app.set("trust proxy", 2);
      app.use(rateLimit({ limits: gcra({ limit: 1, window: "1h" }) }));
      app.get("/", (req, res) => res.end(req.ip));
    });
    const from = (forwarded: string) =>
      sendRequest("/", { headers: { "x-forwarded-for": forwarded } });
    expect((await from("198.51.100.1, 203.0.113.1, 10.0.0.1")).text).toBe("203.0.113.1");
    expect((await from("198.51.100.2, 203.0.113.1, 10.0.0.2")).status).toBe(429);
    expect((await from("203.0.113.2, 10.0.0.1")).status).toBe(200);
    await setImmediate();
    expect(warnings).toEqual([]);
  });
});
