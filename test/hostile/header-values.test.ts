import { fc, test } from "@fast-check/vitest";
import { gcra } from "@headgate/core";
import { byHeader, byTier } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { expect } from "vitest";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import type { AnyRequest } from "../http/support/framework.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { expectNothingOf, headerValue, MARK } from "./header-value.ts";
import { runs } from "./hostile-texts.ts";
import { requestOf, sendRaw } from "./raw-http.ts";
import { expectOurKeys, FROM_REDIS } from "./redis-of-our-own.ts";

/** Every byte a header value may have reaches the key functions; none of them comes back, none is readable in Redis. */

const own = useOwnRedis();

/** What a parser of HTTP must refuse, or take for the end of the value. */
const broken = fc.constantFrom(
  "a\0b",
  "a\rb",
  "a\nX-Evil: 1",
  "a\r\n X-Folded: 1",
  "a\r\nX-Evil: 1",
  "a\x7fb",
  "a\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\n",
);

const header = ({ headers }: AnyRequest) => headers["x-key"] as string | undefined;

describeAdapters(({ serve }) => {
  /** Each route reads the header in its own way; what an application throws goes to the framework's own handler. */
  async function start() {
    const store = redisStore(own.client, { prefix: "web" });
    const limits = gcra({ limit: 1, window: "1h", name: 'a"b\\c, "d";q=9' });
    const named = (name: string) => ({ name, limits, store, ...FROM_REDIS });
    return serve({
      ownErrorHandler: false,
      routes: {
        "/hash": { limits: { ...named("hash"), key: byHeader("x-key") } },
        "/hmac": { limits: { ...named("hmac"), key: byHeader("x-key", { hashSecret: "pepper" }) } },
        "/text": { limits: { ...named("text"), key: header } },
        "/proto": { limits: { ...named("proto"), key: byHeader("__proto__") } },
        "/reject": {
          limits: { ...named("reject"), key: byHeader("x-none"), missingKey: "reject" },
        },
        "/tier": {
          limits: {
            ...named("tier"),
            limits: byTier(
              { free: limits },
              (request: AnyRequest) => String(header(request)) as "free",
            ),
          },
        },
        "/list": { limits: { ...named("list"), key: (request) => [header(request)] as never } },
        "/skip": { limits: { ...named("skip"), skip: (request) => header(request) as never } },
        "/cost": { limits: { ...named("cost"), cost: (request) => header(request) as never } },
        "/throws": {
          limits: {
            ...named("throws"),
            key: (request) => {
              throw header(request);
            },
          },
        },
      },
    });
  }

  test("header values are counted apart, hashed where documented, and never repeated", async () => {
    const { port, errors } = await start();
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(headerValue, { minLength: 2, maxLength: 8 }),
        async (values) => {
          await own.client.flushall();
          for (const path of ["/hash", "/hmac", "/text"]) {
            for (const status of [200, 429]) {
              const answers = await Promise.all(
                values.map((text) => sendRaw(port, requestOf(path, `X-Key: ${text}`))),
              );
              for (const answer of answers) {
                expect(answer.status).toBe(status);
                expectNothingOf(answer, [MARK]);
              }
            }
          }
          const keys = expectOurKeys(await own.scan(), "web");
          expect(keys).toHaveLength(3 * values.length);
          const hashed = keys.filter((key) => !key.includes(":text:"));
          expect(hashed.filter((key) => !/^web:\{~(sha256|hmac)~[\w-]{43}\}:/.test(key))).toEqual(
            [],
          );
        },
      ),
      runs(5),
    );
    expect(errors).toEqual([]);
  });

  test("header values are in no error that a client sees", async () => {
    const { port, handled } = await start();
    await fc.assert(
      fc.asyncProperty(
        headerValue,
        fc.constantFrom("/tier", "/list", "/skip", "/cost", "/throws"),
        async (text, path) => {
          const answer = await sendRaw(port, requestOf(path, `X-Key: ${text}`));
          expect(answer.status).toBe(500);
          expectNothingOf(answer, [MARK]);
        },
      ),
      runs(16),
    );
    expect(handled).toEqual([]);
    expect(await own.client.dbsize()).toBe(0);
  });

  test("header values are in no response about a key of the wrong type", async () => {
    const { port } = await start();
    await sendRaw(port, requestOf("/text", `X-Key: ${MARK}`));
    const keys = await own.scan();
    for (const key of keys) await own.client.multi().del(key).lpush(key, "a list").exec();
    expectNothingOf(await sendRaw(port, requestOf("/text", `X-Key: ${MARK}`)), [MARK]);
    for (const key of keys) expect(await own.client.lrange(key, 0, -1)).toEqual(["a list"]);
  });

  test("invalid header values produce no header and no second response", async () => {
    const { port } = await start();
    await fc.assert(
      fc.asyncProperty(
        broken,
        fc.constantFrom("/hash", "/text", "/reject", "/proto"),
        async (text, path) => {
          const answer = await sendRaw(port, requestOf(path, `X-Key: ${text}`));
          expect([200, 400, 429]).toContain(answer.status);
          expectNothingOf(answer, ["Evil", "evil", "Folded"]);
        },
      ),
      runs(12),
    );
    expectOurKeys(await own.scan(), "web");
  });

  test("header values may arrive under any name, any number of times", async () => {
    const { port, errors } = await start();
    const names = [
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
      "__defineGetter__",
      "valueOf",
    ];
    const lines = names.map((name) => `${name}: ${MARK}`);
    const repeated = Array.from({ length: 200 }, (_, i) => `X-Key: ${MARK}${i}`);
    for (const path of ["/hash", "/text", "/proto", "/reject"]) {
      const answer = await sendRaw(port, requestOf(path, ...lines, ...repeated));
      expect(answer.status).toBe(path === "/reject" ? 400 : 200);
      expectNothingOf(answer, [MARK]);
    }
    expect(errors).toEqual([]);
    expect(expectOurKeys(await own.scan(), "web").join()).not.toMatch(new RegExp(`(${MARK}.*){3}`));
  });
});
