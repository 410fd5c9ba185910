import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { startRedis } from "./redis-process.ts";

describe("a test server", () => {
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

  test("leaves nothing behind when stopped, even when it was frozen", async () => {
    const server = await startRedis();
    process.kill(server.pid, "SIGSTOP");
    await server.stop();
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow("ESRCH");
    expect(existsSync(dirname(server.socket))).toBe(false);
  });

  test("rejects with the server's message if its arguments are invalid", async () => {
    await expect(startRedis({ args: ["--no-such-option", "1"] })).rejects.toThrow(/did not start/);
  });

  test("freezes and thaws, and then executes the commands that came meanwhile", async () => {
    const server = await startRedis();
    const client = new Redis(server.socket);
    await client.ping();
    server.freeze();
    expect(server.state).toBe("frozen");
    const late = client.incr("count");
    const nothing = new Promise((resolve) => setTimeout(resolve, 50, "nothing"));
    expect(await Promise.race([late, nothing])).toBe("nothing");
    server.thaw();
    expect(await late).toBe(1);
    expect(server.state).toBe("running");
    client.disconnect();
    await server.stop();
  });

  test("restarts at the same address after a kill, empty, with other arguments if given", async () => {
    const server = await startRedis({ port: true });
    const client = new Redis(server.port, { retryStrategy: () => 10 });
    client.on("error", () => {});
    await client.set("key", "value");
    const { pid } = server;
    await server.kill();
    expect(server.state).toBe("ended");
    await server.restart(["--maxmemory", "7mb"]);
    expect(server.state).toBe("running");
    expect(server.pid).not.toBe(pid);
    expect(await client.get("key")).toBeNull();
    expect(await client.config("GET", "maxmemory")).toEqual(["maxmemory", `${7 * 1024 * 1024}`]);
    client.disconnect();
    await server.stop();
  });
});
