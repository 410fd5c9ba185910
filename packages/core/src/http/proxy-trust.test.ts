import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import express5 from "express";
import fastify from "fastify";
import { describe, expect, test, vi } from "vitest";
import type { HttpRequest } from "./client.ts";
import { createTrustCheck } from "./proxy-trust.ts";

const express4: typeof express5 = createRequire(import.meta.url)("express4");

const FORWARDED = { "x-forwarded-for": "203.0.113.7" };

type Trust = unknown;

/** Warnings about a request that came with given headers, of a framework with a given trust; and the address it had. */
interface Seen {
  readonly codes: string[];
  readonly address: string | undefined;
}

type Framework = (trust: Trust, headers: Record<string, string>) => Promise<Seen>;

function watchOf() {
  const warn = vi.fn();
  const watch = createTrustCheck(warn);
  const check = (request: HttpRequest, address: string | undefined, peer: string | undefined) =>
    watch({
      request,
      httpRequest: request,
      frameworkClient: { address, peer, isDisconnected: () => false },
    });
  return { check, warn, codes: () => warn.mock.calls.map(([code]) => code) };
}

async function throughFastify(trust: Trust, headers: Record<string, string>): Promise<Seen> {
  const app = fastify({ trustProxy: (trust ?? false) as boolean });
  const { check, codes } = watchOf();
  app.get("/", async (request) => {
    check(request, request.ip, request.raw.socket.remoteAddress);
    return request.ip;
  });
  const { body } = await app.inject({ url: "/", headers, remoteAddress: "10.0.0.1" });
  return { codes: codes(), address: body };
}

function throughExpress(express: typeof express5): Framework {
  return async (trust, headers) => {
    const app = express();
    if (trust !== undefined) app.set("trust proxy", trust);
    const { check, codes } = watchOf();
    app.get("/", (request, response) => {
      check(request, request.ip, request.socket.remoteAddress);
      response.end(request.ip);
    });
    const server = createServer(app).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers });
    const address = await response.text();
    expect(response.status).toBe(200);
    server.close();
    server.closeAllConnections();
    return { codes: codes(), address };
  };
}

const frameworks: [string, Framework, string][] = [
  ["Fastify", throughFastify, "10.0.0.1"],
  ["Express 5", throughExpress(express5), "127.0.0.1"],
  ["Express 4", throughExpress(express4), "127.0.0.1"],
];

describe.each(frameworks)("%s", (name, through, proxy) => {
  test("a framework that trusts no proxy is reported when a request was forwarded", async () => {
    for (const trust of [undefined, false]) {
      expect(await through(trust, FORWARDED)).toEqual({
        codes: ["HEADGATE_PROXY_NOT_TRUSTED"],
        address: proxy,
      });
      expect(await through(trust, {})).toEqual({ codes: [], address: proxy });
    }
  });

  test("the Forwarded header is recognized, too", async () => {
    const { codes } = await through(undefined, { forwarded: "for=203.0.113.7" });
    expect(codes).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test("a framework that trusts every proxy is reported, even if no request was forwarded", async () => {
    const all = ["0.0.0.0/1", "128.0.0.0/1"];
    for (const trust of [true, all.join(","), all, () => true, 1_000]) {
      const isCount = name === "Fastify" && typeof trust === "number";
      // Fastify takes a number for no trust at all, and says so nowhere.
      const [code, address] = isCount
        ? ["HEADGATE_PROXY_NOT_TRUSTED", proxy]
        : ["HEADGATE_ALL_PROXIES_TRUSTED", "203.0.113.7"];
      expect(await through(trust, FORWARDED), String(trust)).toEqual({ codes: [code], address });
    }
    expect((await through(true, {})).codes).toEqual(["HEADGATE_ALL_PROXIES_TRUSTED"]);
  });

  test("a framework that trusts its proxies is not reported", async () => {
    const trusts: Trust[] = [
      proxy,
      `${proxy}/32`,
      ["loopback", "uniquelocal"],
      (address: string) => address === proxy,
      (_: string, hop: number) => hop < 1,
    ];
    if (name !== "Fastify") trusts.push(1, 2, 10);
    for (const trust of trusts) {
      expect(await through(trust, FORWARDED), String(trust)).toEqual({
        codes: [],
        address: "203.0.113.7",
      });
    }
  });

  test("a framework that trusts another proxy than the peer is reported", async () => {
    const { codes, address } = await through("192.0.2.1", FORWARDED);
    expect([codes, address]).toEqual([["HEADGATE_PROXY_NOT_TRUSTED"], proxy]);
  });

  test("requests that a trusted proxy makes itself are not reported", async () => {
    for (const forwarded of [proxy, `${proxy}, ${proxy}`]) {
      const { codes, address } = await through(proxy, { "x-forwarded-for": forwarded });
      expect([codes, address]).toEqual([[], proxy]);
    }
  });

  test("a trust function that throws for an unknown address does not fail the request", async () => {
    const known = new Set([proxy, "203.0.113.7"]);
    const trust = (address: string) => {
      if (!known.has(address)) throw new Error("who is that?");
      return address === proxy;
    };
    expect(await through(trust, FORWARDED)).toEqual({ codes: [], address: "203.0.113.7" });
  });
});

/** A request as a framework would make it, that trusts nobody. */
function request(headers: HttpRequest["headers"] = FORWARDED): HttpRequest {
  return { ip: "10.0.0.1", headers };
}

describe("createTrustCheck", () => {
  test("each problem is reported once, however many requests arrive", () => {
    const { check, codes } = watchOf();
    for (let i = 0; i < 3; i += 1) check(request(), "10.0.0.1", "10.0.0.1");
    expect(codes()).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test("the framework's trust function is called once, not for every request", () => {
    const { check } = watchOf();
    const ip = vi.fn(() => "5.6.7.8");
    const one = Object.defineProperty({ headers: {} }, "ip", { get: ip }) as HttpRequest;
    for (let i = 0; i < 3; i += 1) check(one, "5.6.7.8", "10.0.0.1");
    expect(ip).toHaveBeenCalledTimes(1);
  });

  test("the warning names the untrusted peer and the fix", () => {
    const { check, warn } = watchOf();
    check(request(), "10.0.0.1", "10.0.0.1");
    const [, message] = warn.mock.calls[0] ?? [];
    expect(message).toMatch(/from 10\.0\.0\.1, which is not trusted.*trustProxy.*"trust proxy"/);
    expect(message).not.toContain("203.0.113.7");
  });

  test("requests without a forwarding header do not end the check", () => {
    const { check, codes } = watchOf();
    check(request({}), "10.0.0.1", "10.0.0.1");
    check(request(), undefined, undefined);
    check(request(), "203.0.113.7", "10.0.0.1");
    expect(codes()).toEqual([]);
    check(request(), "10.0.0.1", "10.0.0.1");
    expect(codes()).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test("a proxy that appears late is found within its first requests", () => {
    const { check, codes } = watchOf();
    for (let i = 0; i < 2_000; i += 1) check(request({}), "10.0.0.1", "10.0.0.1");
    for (let i = 0; i < 17; i += 1) check(request(), "10.0.0.1", "10.0.0.1");
    expect(codes()).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test("the request is not changed", () => {
    const { check } = watchOf();
    const one = Object.freeze(request(Object.freeze({ ...FORWARDED })));
    check(one, "10.0.0.1", "10.0.0.1");
    expect(one).toEqual(request());
  });

  test("a request whose address cannot be simulated does not fail", () => {
    class Private {
      readonly headers = FORWARDED;
      readonly #ip = "10.0.0.1";
      get ip(): string {
        return this.#ip;
      }
    }
    const { check } = watchOf();
    expect(() => check(new Private(), "10.0.0.1", "10.0.0.1")).not.toThrow();
  });

  test("nothing is reported if the peer is unknown", () => {
    const { check, codes } = watchOf();
    check({ ip: undefined, headers: FORWARDED }, undefined, undefined);
    check({ ip: "10.0.0.1", headers: FORWARDED }, "10.0.0.1", undefined);
    expect(codes()).toEqual([]);
  });
});
