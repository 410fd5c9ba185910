import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http2";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { dashboard } from "@headgate/dashboard";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { createFleetWithUsage } from "./support/fleet.ts";
import { mounts } from "./support/mounts.ts";
import { SAME_ORIGIN, sendRequest } from "./support/send-request.ts";

const own = useOwnRedis();

describe("a POST to an endpoint", () => {
  const BODY = JSON.stringify({ subject: "ann", kind: "text" });
  const json = { "content-type": "application/json" };

  test.each<[string, Record<string, string>, number]>([
    ["same-origin", { "sec-fetch-site": "same-origin" }, 200],
    ["same-origin, whatever its Origin", { "sec-fetch-site": "same-origin", origin: "null" }, 200],
    ["cross-site", { "sec-fetch-site": "cross-site" }, 403],
    ["same-site", { "sec-fetch-site": "same-site" }, 403],
    ["none, as by an address bar", { "sec-fetch-site": "none" }, 403],
    ["cross-site with our Origin", { "sec-fetch-site": "cross-site", origin: "OWN" }, 403],
    ["no header", {}, 403],
    ["our Origin", { origin: "OWN" }, 200],
    ["another Origin", { origin: "http://evil.example" }, 403],
    ["another port", { origin: "http://127.0.0.1:1" }, 403],
    ["an Origin of null", { origin: "null" }, 403],
    ["an Origin that is none", { origin: "http://" }, 403],
    ["an Origin of another scheme", { origin: "chrome-extension://OWNHOST" }, 403],
  ])("is checked for its origin with %s", async (_, given, status) => {
    const fleet = await createFleetWithUsage(own.client);
    for (const { mount } of mounts) {
      const page = await mount({
        store: fleet.store,
        authorize: () => ({ by: "e", actions: "all" }),
      });
      const { origin, host } = new URL(page);
      const headers = Object.fromEntries(
        Object.entries(given).map(([name, value]) => [
          name,
          value.replace("OWNHOST", host).replace(/^OWN$/, origin),
        ]),
      );
      const options = { method: "POST", headers: { ...json, ...headers }, body: BODY };
      expect((await sendRequest(`${page}api/subject`, options)).status).toBe(status);
      for (const write of ["preview", "act"]) {
        const asked = await sendRequest(`${page}api/${write}`, options);
        expect(asked.status === 403).toBe(status === 403);
      }
    }
  });

  test.each([
    ["our Origin", "OWN", 200],
    ["another Origin", "http://evil.example", 403],
  ])("over HTTP/2, which has no Host header, is checked with %s", async (_, given, status) => {
    const fleet = await createFleetWithUsage(own.client);
    const page = dashboard({
      store: fleet.store,
      authorize: () => ({ by: "e", actions: "all" }),
    });
    const server = createServer(page as never).listen(0, "127.0.0.1");
    await once(server, "listening");
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const session = connect(origin);
    onTestFinished(() => {
      session.destroy();
      server.close();
    });
    const asked = session.request({
      ...{ ":method": "POST", ":path": "/api/subject", ...json },
      origin: given.replace("OWN", origin),
    });
    asked.end(BODY);
    const [headers] = (await once(asked, "response")) as [IncomingHttpHeaders];
    expect(headers[":status"]).toBe(status);
  });

  test("is refused with 405 if it has another method", async () => {
    const fleet = await createFleetWithUsage(own.client);
    for (const { mount } of mounts) {
      const page = await mount({
        store: fleet.store,
        authorize: () => ({ by: "e", actions: "all" }),
      });
      for (const write of ["subject", "preview", "act"]) {
        for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH"]) {
          const { status, headers } = await sendRequest(`${page}api/${write}`, {
            method,
            headers: SAME_ORIGIN,
          });
          expect([method, status, headers["allow"]]).toEqual([method, 405, "POST"]);
        }
      }
      for (const path of ["", "api/overview"]) {
        const { status, headers } = await sendRequest(`${page}${path}`, {
          method: "POST",
          headers: SAME_ORIGIN,
        });
        expect([status, headers["allow"]]).toEqual([405, "GET, HEAD"]);
      }
    }
  });

  test("is refused if it has the content type of a form", async () => {
    const fleet = await createFleetWithUsage(own.client);
    for (const { mount } of mounts) {
      const page = await mount({ store: fleet.store, authorize: () => "read" });
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json2"]) {
        const headers = { ...SAME_ORIGIN, "content-type": type };
        const options = { method: "POST", headers, body: BODY };
        expect((await sendRequest(`${page}api/subject`, options)).status).toBe(400);
      }
      const charset = { ...SAME_ORIGIN, "content-type": "Application/JSON; charset=utf-8" };
      const options = { method: "POST", headers: charset, body: BODY };
      expect((await sendRequest(`${page}api/subject`, options)).status).toBe(200);
    }
  });
});
