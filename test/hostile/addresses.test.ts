import { maxHeaderSize } from "node:http";
import { fc, test } from "@fast-check/vitest";
import { fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect } from "vitest";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import type { Site } from "../http/support/framework.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { runs } from "./hostile-texts.ts";
import { requestOf, sendRaw } from "./raw-http.ts";
import { expectOurKeys, FROM_REDIS } from "./redis-of-our-own.ts";

/** What a proxy may forward, over the wire, under every form of trust: no crash, no error, and no way into another client's counter. */

const own = useOwnRedis();

/** The victim's address in all its notations, for which no other client may be mistaken. */
const VICTIM = [
  "203.0.113.9",
  "::ffff:203.0.113.9",
  "::FFFF:cb00:7109",
  "0:0:0:0:0:ffff:203.0.113.9",
  "203.0.113.9:4711",
  "[::ffff:203.0.113.9]:80",
  "::ffff:203.0.113.9%eth0",
  "64:ff9b::cb00:7109",
  "::ffff:0:203.0.113.9",
];
const VICTIM_TAG = "{203.0.113.9}";

/** Texts that resemble addresses, and addresses in unusual forms; none is the victim's, and none is in a trusted network. */
const ODD_STRANGERS: readonly string[] = [
  ...[
    "2001:db8::1",
    "2001:DB8:0:0::1%eth0",
    "fe80::1%25eth0",
    "fe80::1%",
    "::",
    "::2",
    "64:ff9b:1::cb00:7109",
  ],
  ...[
    "[2001:db8::1]:443",
    "::203.0.113.9",
    "2002:cb00:7109::",
    "203.0.113.9.",
    "203.0.113.09",
    "203.0.113",
  ],
  ...[
    "203.0.113.9/32",
    "3405803785",
    "0xcb007109",
    "0313.0.0161.011",
    "203.0.113.9%eth0",
    "[203.0.113.9",
  ],
  ...[
    "}{203.0.113.9}",
    "{203.0.113.9}:api",
    "203.0.113.9}:web",
    "%32%30%33.0.113.9",
    "203.0.113.9\t;",
    "*",
  ],
  ...[
    "unknown",
    "_hidden",
    "localhost",
    "__proto__",
    "constructor",
    "~ip~203.0.113.9",
    "~text~a",
    "#",
    "-",
  ],
  ...[
    "x".repeat(2_000),
    ":".repeat(500),
    "[".repeat(500),
    "1.".repeat(500),
    "%".repeat(500),
    "\xff\x80",
    "é",
  ],
];

/** Those, and other addresses. */
const stranger: fc.Arbitrary<string> = fc.oneof(
  fc.ipV4().filter((ip) => !/^(127|10)\.|^203\.0\.113\.9$/.test(ip)),
  fc.ipV6().filter((ip) => !/^(::1|.*:(7f|0?a)..:.*|.*\.\d+)$/i.test(ip)),
  fc.constantFrom(...ODD_STRANGERS),
);

/** With blanks around the commas, as lists may have them. (A tab is part of the address to Express; no proxy writes one.) */
const forwarded = fc
  .array(fc.tuple(stranger, fc.constantFrom(",", ", ", " , ")), { maxLength: 4 })
  .map((list) => list.map(([address, comma]) => address + comma).join(""));

/** What each framework takes for the trust in the peer of these tests, which is on the loopback. */
const TRUSTS: readonly NonNullable<Site["trustProxy"]>[] = [
  "loopback",
  "loopback, 10.0.0.0/8",
  (address: string) => address === "127.0.0.1",
  (_: string, hop: number) => hop < 1,
];

describeAdapters(({ serve }) => {
  async function start(trustProxy: Site["trustProxy"] = "loopback") {
    const store = redisStore(own.client, { prefix: "web" });
    const limits = {
      name: "api",
      limits: fixedWindow({ limit: 1_000_000, window: "1h" }),
      store,
      ...FROM_REDIS,
    };
    const { port, errors } = await serve({ limits, trustProxy, ownErrorHandler: true });
    return {
      errors,
      ask: (...lines: string[]) => sendRaw(port, requestOf("/", ...lines)),
      tags: async () =>
        expectOurKeys(await own.scan(), "web").map((key) => /\{.*?\}/.exec(key)?.[0]),
    };
  }

  test.each(TRUSTS.map((trust) => [String(trust), trust] as const))(
    "whatever a client put before its address, it is counted as itself, trusting %s",
    async (_, trust) => {
      const { ask, tags, errors } = await start(trust);
      const list = fc.tuple(forwarded, fc.constantFrom(...VICTIM.slice(0, 3)));
      await fc.assert(
        fc.asyncProperty(list, async ([before, victim]) => {
          const answer = await ask(`X-Forwarded-For: ${before}${victim}`);
          expect(answer.status).toBe(200);
        }),
        runs(16),
      );
      expect(await tags()).toEqual([VICTIM_TAG]);
      expect(errors).toEqual([]);
    },
  );

  test("only a victim's own address is counted as the victim", async () => {
    const { ask, tags, errors } = await start();
    await fc.assert(
      fc.asyncProperty(forwarded, stranger, async (before, last) => {
        expect((await ask(`X-Forwarded-For: ${before}${last}`)).status).toBe(200);
      }),
      // Each odd one once, then others.
      { ...runs(100), examples: ODD_STRANGERS.map((last) => ["", last]) },
    );
    const found = await tags();
    expect(found).not.toContain(VICTIM_TAG);
    // Characters that no address has are escaped or hashed, and no other text is the subject of a network.
    for (const tag of found) {
      if (tag?.includes("/")) expect(tag).toMatch(/^\{([0-9a-f:]+\/64|~text~[^{}]*)\}$/);
    }
    expect(errors).toEqual([]);
  });

  test("all notations of an address count as one client", async () => {
    const { ask, tags } = await start();
    for (const victim of VICTIM) await ask(`X-Forwarded-For: ${victim}`);
    expect(await tags()).toEqual([VICTIM_TAG]);
  });

  test("an IPv6 client counts as one, whatever bits of its /64 it chooses", async () => {
    const { ask, tags } = await start();
    const address = fc
      .tuple(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.constantFrom("", "%eth0", "%25", "%\xff"),
      )
      .map(([host, zone]) => {
        const groups = host.toString(16).padStart(16, "0").match(/.{4}/g) ?? [];
        return `2001:db8:1:2:${groups.join(":")}${zone}`;
      });
    await fc.assert(
      fc.asyncProperty(address, fc.boolean(), async (text, isBracketed) => {
        await ask(`X-Forwarded-For: ${isBracketed ? `[${text}]:443` : text}`);
      }),
      runs(16),
    );
    expect(await tags()).toEqual(["{2001:db8:1:2::/64}"]);
  });

  test("without a trusted proxy, no header changes the counted client", async () => {
    const { ask, tags, errors } = await start(false);
    await fc.assert(
      fc.asyncProperty(forwarded, stranger, async (before, last) => {
        const lines = [
          "X-Forwarded-For",
          "X-Real-IP",
          "Client-IP",
          "True-Client-IP",
          "CF-Connecting-IP",
        ];
        const fields = [
          ...lines.map((name) => `${name}: ${before}${last}`),
          `Forwarded: for="${last}"`,
        ];
        // Node rejects longer headers with 431, before any handler runs.
        fc.pre(requestOf("/", ...fields).length < maxHeaderSize);
        expect((await ask(...fields)).status).toBe(200);
      }),
      runs(16),
    );
    expect(await tags()).toEqual(["{127.0.0.1}"]);
    expect(errors).toEqual([]);
  });

  test.each(["", ",", " , ,", "\t"])(
    "a proxy that forwards no address, %j, lets nobody through uncounted",
    async (list) => {
      const { ask, tags, errors } = await start();
      const { status } = await ask(`X-Forwarded-For: ${list}`);
      if (status === 500) expect(errors).toMatchObject([{ code: "HEADGATE_NO_ADDRESS" }]);
      else expect([status, (await tags()).length]).toEqual([200, 1]);
    },
  );
});
