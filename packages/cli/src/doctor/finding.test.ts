import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { redisCliCommand } from "./finding.ts";

const server = { address: "10.0.0.7:6379", redisCliArgs: ["-h", "10.0.0.7", "-p", "6379"] };

test("arguments that a shell does not interpret are not quoted", () => {
  expect(redisCliCommand(server, "CONFIG", "SET", "maxmemory", "2mb")).toBe(
    "redis-cli -h 10.0.0.7 -p 6379 CONFIG SET maxmemory 2mb",
  );
});

test.each(["hg:{control}", "~hg:*", "it's", "$(date)", "a b", "", "+acl|whoami", "\\"])(
  "a shell passes on %j unchanged",
  (word) => {
    const command = redisCliCommand(server, word).replace(
      "redis-cli -h 10.0.0.7 -p 6379",
      "printf %s",
    );
    expect(execFileSync("sh", ["-c", command]).toString()).toBe(word);
  },
);
