import { describe, expect, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import { countersOf } from "../policy/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { ScriptTransport } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { counterKeysOf } from "./counter-keys.ts";

/** A store on servers, as far as keys are concerned. */
const transport = {} as ScriptTransport;
const store = { ...requireStore(memoryStore()), prefix: "hg", transport };

/** The key of a subject's counter. */
function keyOf(limiter: string, subject: string, per = "user"): string {
  const policy = gcra({ limit: 5, window: "1m", per });
  const [counter] = countersOf(compileLimiterPolicy(limiter, policy, store), { [per]: subject });
  return counter?.key ?? "";
}

describe("the counter keys of a limiter", () => {
  test.each([
    ["api", "ann"],
    ["GET /a/:id", "2001:db8::/64"],
    ["x".repeat(200), "ümlaut {x}:*?[a]%\ud800"],
    ["api", "}:api:default:12345678"],
  ])("say whose they are: %s of %s", (limiter, subject) => {
    const keys = counterKeysOf(limiter, "hg");
    expect(keys.read(keyOf(limiter, subject))).toEqual({
      dimension: "user",
      subject,
      fingerprint: keyOf(limiter, subject).slice(-8),
    });
  });

  test("with a hash instead of the subject have no subject", () => {
    const key = keyOf("api", "y".repeat(65));
    expect(counterKeysOf("api", "hg").read(key)?.subject).toBeUndefined();
    expect(counterKeysOf("api", "hg").read(key)?.dimension).toBe("user");
  });

  test("exclude those of other limiters and keys that are not counters", () => {
    const { read, pattern } = counterKeysOf("api", "hg");
    expect(pattern).toBe("hg:{*}:api:*");
    for (const key of [
      keyOf("api2", "ann"),
      keyOf("api", "ann").replace("hg:", "hgg:"),
      `${keyOf("api", "ann")}:log`,
      "hg:{registry}",
      "hg:{ann}:probe",
      "hg:{ann}:api:default",
    ]) {
      expect(read(key), key).toBeUndefined();
    }
  });
});
