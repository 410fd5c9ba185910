import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { startRedis } from "./redis-process.ts";

describe("a server of a suite's own", () => {
  test("answers on its socket and on a port that was free", async () => {
    const server = await startRedis({ port: true, args: ["--maxmemory", "7mb"] });
    const bySocket = new Redis(server.socket);
    const byPort = new Redis(server.port);
    await bySocket.set("key", "value");
    expect(await byPort.get("key")).toBe("value");
    expect(await byPort.config("GET", "maxmemory")).toEqual(["maxmemory", `${7 * 1024 * 1024}`]);
    bySocket.disconnect();
    byPort.disconnect();
    await server.stop();
  });

  test("is gone when stopped, and so is all it left, even when it was frozen", async () => {
    const server = await startRedis();
    process.kill(server.pid, "SIGSTOP");
    await server.stop();
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow("ESRCH");
    expect(existsSync(dirname(server.socket))).toBe(false);
  });

  test("does not start half: arguments it refuses are an error that says so", async () => {
    await expect(startRedis({ args: ["--no-such-option", "1"] })).rejects.toThrow(/did not start/);
  });
});
