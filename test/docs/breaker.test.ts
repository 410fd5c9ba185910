import type { Breaker, FallbackContext, RunOptions } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { blocksOf, codeIn, page, section, tablesOf } from "./markdown.ts";

const PAGE = page("docs/reference/breaker.md");

function rowsOf(heading: string, at = 0): readonly (readonly string[])[] {
  return tablesOf(section(PAGE, heading))[at]?.rows ?? [];
}

/** Reads the known options from the error that an unknown option causes. */
async function optionsOf(give: (options: object) => unknown): Promise<string[]> {
  const message = await Promise.resolve()
    .then(() => give({ noSuchOption: 1 }))
    .then(String, (error: Error) => error.message);
  return /it takes (.+)$/.exec(message)?.[1]?.split(", ") ?? [message];
}

describe("the table of options", () => {
  const rows = rowsOf("Options");

  test("lists exactly the existing ones", async () => {
    expect(rows.map(([option = ""]) => codeIn(option)[0])).toEqual(await optionsOf(createBreaker));
  });

  test("each option has a chapter, in the order of the table", () => {
    const chapters = [...section(PAGE, "Options").matchAll(/^### (.+)$/gm)];
    expect(chapters.map(([, option]) => option)).toEqual(
      rows.map(([option = ""]) => codeIn(option)[0]),
    );
  });

  test("lists the defaults: a breaker with all of them equals one without options", () => {
    const documented = rows
      .map(([option = "", value = ""]) => [codeIn(option)[0], /^`([\w".]+)`$/.exec(value)?.[1]])
      .filter(([, value]) => value !== undefined)
      .map(([option, value]) => [option, JSON.parse(value as string)]);
    expect(documented.map(([option]) => option)).toContain("flushInterval");
    const store = memoryStore();
    const name = "defaults";
    createBreaker({ name, store });
    const { slowCallRate, ...others } = Object.fromEntries(documented);
    expect(() => createBreaker({ name, store, ...others })).not.toThrow();
    expect(() => createBreaker({ name, store, ...others, trialCalls: 6 })).toThrow(
      "another policy",
    );
    // The option needs `slowCall`, which has no default.
    createBreaker({ name: "slow", store, slowCall: "1s" });
    expect(() =>
      createBreaker({ name: "slow", store, slowCall: "1s", slowCallRate }),
    ).not.toThrow();
  });

  test("the table of run lists exactly the options of run", async () => {
    const options = await optionsOf((given) => createBreaker().run(() => 1, given as never));
    expect(rowsOf("Making calls").map(([option = ""]) => codeIn(option)[0])).toEqual(options);
  });
});

test("the table of methods lists exactly the existing methods", () => {
  const methods = Object.entries(createBreaker())
    .filter(([, value]) => typeof value === "function")
    .map(([name]) => name);
  const documented = rowsOf("Methods").map(([call = ""]) => codeIn(call)[0]?.split("(")[0]);
  expect(documented.sort()).toEqual(methods.sort());
});

describe("the reasons that a fallback receives", () => {
  /** Makes a call that fails; resolves with the context of the fallback, in the format of the table. */
  async function documented(
    breaker: Breaker<string>,
    call: () => string | Promise<string>,
    options: RunOptions<string> = {},
  ): Promise<string[]> {
    let context: FallbackContext<string> | undefined;
    await breaker.run(call, {
      ...options,
      fallback(given) {
        context = given;
        return "";
      },
    });
    const names = ["error", "retryAfterMs", "result"].filter((name) => name in (context ?? {}));
    return [`"${context?.reason}"`, ...names];
  }

  test("are those of the table, with their fields", async () => {
    const breaker = createBreaker<string>({
      isFailure: (call) => call.status === "rejected" || call.value === "bad",
    });
    const fail = (): never => {
      throw new Error("no");
    };
    const seen = [
      await documented(breaker, fail),
      await documented(breaker, () => new Promise(() => {}), { timeout: 1 }),
      await documented(breaker, () => "bad"),
    ];
    await breaker.forceOpen();
    seen.unshift(await documented(breaker, () => "never"));
    const rows = rowsOf("Making calls", 1);
    expect(rows.map(([because = "", also = ""]) => [...codeIn(because), ...codeIn(also)])).toEqual(
      seen,
    );
  });
});

describe("the table of states", () => {
  test("has each state that a breaker can have", async () => {
    let now = 1_800_000_000_000;
    const breaker = createBreaker({
      name: "states",
      store: memoryStore({ clock: () => now }),
      minimumCalls: 1,
    });
    const seen: string[] = [];
    const see = async (): Promise<void> => {
      seen.push(JSON.stringify((await breaker.snapshot()).state));
    };
    await see();
    await breaker.record("failure");
    await see();
    now += 30_000;
    await see();
    await breaker.forceOpen();
    await see();
    await breaker.disable();
    await see();
    await breaker.metricsOnly();
    await see();
    expect(rowsOf("States").map(([state = ""]) => codeIn(state)[0])).toEqual(seen);
    // The picture leaves out the states that operators set.
    const [picture] = blocksOf([PAGE], "text");
    const drawn = picture?.text.match(/[a-zA-Z-]+/g);
    expect(drawn).toEqual(expect.arrayContaining(["closed", "open", "half-open"]));
  });
});
