import { fixedWindow } from "@headgate/core";
import headgate from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";

test("app.close() ends although the key of a request never settles", async () => {
  const app = Fastify();
  let begin: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  await app.register(headgate, {
    limits: fixedWindow({ limit: 10, window: "1h" }),
    key: () => {
      begin();
      return new Promise<never>(() => {});
    },
  });
  app.get("/", async () => "ok");
  void app.inject("/");
  await begun;
  const startedAt = performance.now();
  await app.close();
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
