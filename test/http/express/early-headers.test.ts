import { gcra } from "@headgate/core";
import { rateLimit } from "@headgate/express";
import { expect, test } from "vitest";
import { describeExpress } from "./describe-express.ts";

describeExpress(({ serve }) => {
  test("after headers were sent, an allowed request continues and a denied request does not reach the handler", async () => {
    const handled: string[] = [];
    const { sendRequest } = await serve((app) => {
      app.use((_req, res, next) => {
        res.write("early ");
        next();
      });
      app.use(rateLimit({ limits: gcra({ limit: 1, window: "1h" }) }));
      app.get("/", (req, res) => {
        handled.push(req.path);
        res.end("late");
      });
    });
    expect((await sendRequest()).text).toBe("early late");
    const denied = await sendRequest().then(
      ({ text }) => text,
      () => "cut off",
    );
    expect(denied).not.toContain("late");
    expect(handled).toHaveLength(1);
  });
});
