import { expect, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { createLimiter } from "./create-limiter.ts";

/** A subject that is known by more than any one limiter counts. */
const ada = { user: "ada", tenant: "acme", ip: "203.0.113.7" };

function limiterPer(...dimensions: string[]) {
  const limits = dimensions.map((per) => gcra({ limit: 5, window: "1h", per }));
  return createLimiter({ limits });
}

test("with ignoreUnknownDimensions, one subject can be reset, blocked and unblocked in limiters with different dimensions", async () => {
  const limiters = [limiterPer("user"), limiterPer("user", "tenant"), limiterPer("ip")];
  for (const [i, limiter] of limiters.entries()) {
    const own = [{ user: "ada" }, { user: "ada", tenant: "acme" }, { ip: "203.0.113.7" }][i] ?? {};
    await limiter.consume(own, { cost: 3 });
    await limiter.block(ada, "1 hour", { ignoreUnknownDimensions: true });
    expect(await limiter.peek(own)).toMatchObject({ blocked: true });
    expect(await limiter.unblock(ada, { ignoreUnknownDimensions: true })).toBe(true);
    expect(await limiter.peek(own)).toMatchObject({ blocked: false, remaining: 1 });
    expect(await limiter.reset(ada, { ignoreUnknownDimensions: true })).toBe(true);
    expect(await limiter.peek(own)).toMatchObject({ remaining: 4 });
    expect(await limiter.reset(ada, { ignoreUnknownDimensions: true })).toBe(false);
  }
});

test("with ignoreUnknownDimensions, a limiter without any of the dimensions does nothing", async () => {
  const limiter = limiterPer("key");
  await limiter.consume({ key: "k" });
  await limiter.block(ada, "1h", { ignoreUnknownDimensions: true });
  expect(await limiter.unblock(ada, { ignoreUnknownDimensions: true })).toBe(false);
  expect(await limiter.reset(ada, { ignoreUnknownDimensions: true })).toBe(false);
  expect(await limiter.peek({ key: "k" })).toMatchObject({ blocked: false, remaining: 3 });
});

test("an unknown dimension is an error without ignoreUnknownDimensions, and so is an empty subject", async () => {
  const limiter = limiterPer("user");
  const unknown = { code: "HEADGATE_INVALID_OPTION", message: /no limit counts by "tenant"/ };
  for (const options of [
    undefined,
    {},
    { ignoreUnknownDimensions: false },
    { ignoreUnknownDimensions: undefined },
  ]) {
    await expect(limiter.reset(ada, options)).rejects.toMatchObject({
      ...unknown,
      message: expect.stringMatching(unknown.message),
    });
  }
  const empty = { code: "HEADGATE_EMPTY_KEY" };
  await expect(limiter.reset({}, { ignoreUnknownDimensions: true })).rejects.toMatchObject(empty);
  await expect(
    limiter.reset({ user: null }, { ignoreUnknownDimensions: true }),
  ).rejects.toMatchObject(empty);
  await expect(
    limiter.reset({ ...ada, user: "" }, { ignoreUnknownDimensions: true }),
  ).rejects.toMatchObject(empty);
  await expect(
    limiterPer("user", "ip").reset("ada", { ignoreUnknownDimensions: true }),
  ).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
  });
});

test("all clients are reset together only if the global dimension is named", async () => {
  const limiter = limiterPer("user", "global");
  await limiter.consume({ user: "ada" });
  await limiter.reset(ada, { ignoreUnknownDimensions: true });
  const { limits } = await limiter.peek({ user: "ada" }, { cost: 0 });
  expect(limits.map(({ remaining }) => remaining)).toEqual([5, 4]);
});

test("with ignoreUnknownDimensions, one subject is counted in limiters with different dimensions", async () => {
  const options = { ignoreUnknownDimensions: true };
  for (const limiter of [limiterPer("user"), limiterPer("user", "tenant"), limiterPer("ip")]) {
    expect(await limiter.peek(ada, options)).toMatchObject({ allowed: true, remaining: 4 });
    expect(await limiter.consume(ada, options)).toMatchObject({ allowed: true, remaining: 4 });
    expect(await limiter.charge(ada, options)).toMatchObject({ charged: 1 });
    expect(await limiter.wait(ada, options)).toMatchObject({ allowed: true, remaining: 2 });
    for (const timeout of [0, "1s"] as const) {
      await limiter.run(ada, () => {}, { ...options, timeout });
    }
    const limits = limiter.limits.map(({ per }) => gcra({ limit: 9, window: "1h", per }));
    expect(await limiter.peek(ada, { ...options, limits })).toMatchObject({ remaining: 3 });
    const days = limiter.limits.map(({ per }) => gcra({ limit: 7, window: "1d", per }));
    expect(await limiter.consume(ada, { ...options, limits: days })).toMatchObject({
      remaining: 6,
    });
    await expect(limiter.consume(ada)).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  }
});

test("with ignoreUnknownDimensions, a request without a subject of the limiter's own is an error, not an admission", async () => {
  const limiter = limiterPer("key");
  for (const method of [limiter.consume, limiter.peek, limiter.charge, limiter.wait]) {
    await expect(method(ada, { ignoreUnknownDimensions: true })).rejects.toMatchObject({
      code: "HEADGATE_EMPTY_KEY",
    });
  }
  await expect(
    limiter.consume({ key: "k" }, { ignoreUnknownDimensions: "yes" as never }),
  ).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
});
