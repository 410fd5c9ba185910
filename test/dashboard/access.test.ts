import { createBreaker } from "@headgate/breaker";
import { HeadgateError, memoryStore } from "@headgate/core";
import type { Permission } from "@headgate/dashboard";
import { dashboard } from "@headgate/dashboard";
import { dashboard as forExpress } from "@headgate/dashboard/express";
import { dashboard as forFastify } from "@headgate/dashboard/fastify";
import express from "express";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { serve } from "../support/serve.ts";
import { createFleet, createFleetWithUsage } from "./support/fleet.ts";
import type { MountOptions } from "./support/mounts.ts";
import { mounts, nodeMount } from "./support/mounts.ts";
import { api, sendRequest } from "./support/send-request.ts";

const own = useOwnRedis();

const READS = ["session", "overview", "limiter?name=api", "breakers", "control", "log", "redis"];

describe("a dashboard with invalid options", () => {
  test("is not created without authorize", async () => {
    const { store } = createFleet(own.client);
    const without = { store } as never;
    const code = { code: "HEADGATE_INVALID_OPTION" };
    expect(() => dashboard(without)).toThrow(expect.objectContaining(code));
    expect(() => forExpress(without)).toThrow(expect.objectContaining(code));
    const app = Fastify();
    onTestFinished(() => app.close());
    await expect(app.register(forFastify, without)).rejects.toMatchObject(code);
  });

  test.each<[string, object]>([
    ["a store in memory", { store: memoryStore() }],
    ["an object that is no store", { store: {} }],
    ["an unknown option", { limiters: [] }],
    ["an empty title", { title: "" }],
    ["a doctor that is no function", { doctor: "well" }],
    ["a path without a leading slash", { path: "limits" }],
    ["an invalid storeTimeout", { storeTimeout: "soon" }],
  ])("is not created with %s", (_, wrong) => {
    const { store } = createFleet(own.client);
    expect(() => dashboard({ store, authorize: () => "read", ...wrong } as never)).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
  });
});

describe.each(mounts)("authorize in $name", ({ mount }) => {
  test("is called for the page and for each endpoint; a refused visitor gets 403", async () => {
    const fleet = await createFleetWithUsage(own.client);
    let asked = 0;
    const authorize = (): Permission => {
      asked += 1;
      return false;
    };
    const page = await mount({ store: fleet.store, authorize });
    for (const path of ["", ...READS.map((read) => `api/${read}`), "api/nothing"]) {
      const { status, body } = await sendRequest(`${page}${path}`);
      expect([path, status]).toEqual([path, 403]);
      expect(body.toString()).not.toContain("api");
    }
    for (const write of ["subject", "preview", "act"]) {
      expect((await api(page, write, {})).status).toBe(403);
    }
    expect(asked).toBe(READS.length + 5);
  });

  test.each<[string, () => Permission | Promise<Permission>]>([
    [
      "throws",
      () => {
        throw new Error("database password is 1234");
      },
    ],
    ["rejects", () => Promise.reject(new Error("database password is 1234"))],
    [
      "throws an error of Headgate's",
      () => {
        throw new HeadgateError("HEADGATE_INVALID_OPTION", "database password is 1234");
      },
    ],
    ["rejects with a value that cannot be formatted", () => Promise.reject(Object.create(null))],
    ["returns an invalid permission", () => ({ by: "" }) as never],
    ["returns true", () => true as never],
    ["names an unknown action", () => ({ by: "eve", actions: ["drop" as never] })],
  ])("gives 500 without details if it %s", async (_, authorize) => {
    const fleet = await createFleetWithUsage(own.client);
    const page = await mount({ store: fleet.store, authorize });
    for (const path of ["", "api/overview"]) {
      const { status, body } = await sendRequest(`${page}${path}`);
      expect([status, JSON.parse(body.toString()).error.code]).toEqual([500, "FAILED"]);
      expect(body.toString()).not.toContain("1234");
    }
  });

  test.each([false, true])("may respond itself, and throws afterwards: %s", async (throwsThen) => {
    const fleet = await createFleetWithUsage(own.client);
    const authorize = async (_: unknown, response: object): Promise<Permission> => {
      const raw = "raw" in response ? (response as { raw: object }).raw : response;
      const { hijack } = response as { hijack?: () => void };
      hijack?.call(response);
      (raw as import("node:http").ServerResponse)
        .writeHead(401, { "www-authenticate": "Basic" })
        .end("who are you?");
      if (throwsThen) throw new Error("it has answered");
      return false;
    };
    const page = await mount({ store: fleet.store, authorize });
    for (const path of ["", "api/overview"]) {
      const { status, headers, body } = await sendRequest(`${page}${path}`);
      expect([status, headers["www-authenticate"], body.toString()]).toEqual([
        401,
        "Basic",
        "who are you?",
      ]);
    }
  });

  test("receives the framework's request", async () => {
    const fleet = await createFleetWithUsage(own.client);
    const authorize = ({ headers }: { headers: { cookie?: string | undefined } }): Permission =>
      headers.cookie === "sid=1" ? "read" : false;
    const page = await mount({ store: fleet.store, authorize });
    expect((await api(page, "session")).status).toBe(403);
    expect((await api(page, "session", undefined, { cookie: "sid=1" })).status).toBe(200);
  });
});

test("the message of an error of the application is shown to nobody, whatever its code", async () => {
  const fleet = await createFleetWithUsage(own.client);
  const breaker = createBreaker({ name: "bank", store: fleet.store });
  onTestFinished(() => breaker.close());
  await breaker.for("eu").run(async () => 1);
  await fleet.report();
  const fail = (): never => {
    throw new HeadgateError("HEADGATE_INVALID_OPTION", "redis://:hush@redis.example.com");
  };
  const target = { target: "eu", snapshot: fail, forceOpen: fail, disable: fail, reset: fail };
  const close = async (): Promise<void> => {};
  const { store } = fleet;
  const all = () => ({ by: "eve", actions: "all" }) as const;
  const order = { kind: "breaker", breaker: "bank", target: "eu", order: "open" };
  const pages: readonly (readonly [Omit<MountOptions, "store">, string, object?])[] = [
    [{ authorize: () => ({ ...all(), limiters: fail }) }, "overview"],
    [
      { authorize: () => ({ ...all(), limiters: fail }) },
      "subject",
      { subject: "ann", kind: "text" },
    ],
    [{ authorize: all, doctor: async () => fail() }, "redis"],
    ...[fail, () => ({ for: fail, close }), () => ({ for: () => target, close })].flatMap(
      (createBreaker): [Omit<MountOptions, "store">, string, object?][] => [
        [{ authorize: all, createBreaker }, "breakers"],
        [{ authorize: all, createBreaker }, "preview", { action: order }],
      ],
    ),
  ];
  for (const [options, path, body] of pages) {
    const page = await nodeMount.mount({ store, ...options });
    const response = await api(page, path, body);
    expect([path, response.body.toString()]).toEqual([path, expect.not.stringContaining("hush")]);
  }
});

test("authorize may be typed with the request types of Express and Fastify", async () => {
  const { store } = createFleet(own.client);
  const app = express();
  app.use(
    "/a",
    forExpress({ store, authorize: (request: express.Request) => request.ip === "" && "read" }),
  );
  const other = Fastify();
  onTestFinished(() => other.close());
  await other.register(forFastify, {
    prefix: "/limits",
    store,
    authorize: (request) => request.ip === "" && "read",
  });
  const url = await serve(app);
  expect((await sendRequest(`${url}/a/api/session`)).status).toBe(403);
});
