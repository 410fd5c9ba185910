import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { sendRejection, setHeaders } from "./apply-verdict.ts";

function response(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

test("setHeaders sets and removes headers of a response", () => {
  const res = response();
  res.setHeader("X-RateLimit-Limit", "5");
  setHeaders(res, [
    ["RateLimit", '"a";r=1;t=1'],
    ["X-RateLimit-Limit", undefined],
  ]);
  expect({ ...res.getHeaders() }).toEqual({ ratelimit: '"a";r=1;t=1' });
});

test("setHeaders appends to a header that the response has", () => {
  const res = response();
  for (const ms of [1, 2]) setHeaders(res, [["Server-Timing", `headgate;dur=${ms}`, "append"]]);
  expect(res.getHeader("Server-Timing")).toBe("headgate;dur=1, headgate;dur=2");
  res.setHeader("Server-Timing", ["app;dur=1", "db;dur=2"]);
  setHeaders(res, [["server-timing", "headgate;dur=3", "append"]]);
  expect(res.getHeader("Server-Timing")).toMatch(/^app;dur=1, ?db;dur=2, headgate;dur=3$/);
});

test("sendRejection ends the response", () => {
  const res = response();
  sendRejection(res, { status: 429, contentType: "application/problem+json", body: "{}" });
  expect(res.statusCode).toBe(429);
  expect(res.writableEnded).toBe(true);
  expect({ ...res.getHeaders() }).toEqual({ "content-type": "application/problem+json" });
});
