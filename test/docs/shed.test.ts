import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { loadShedder, SHED_CHANNELS } from "@headgate/shed";
import { expect, onTestFinished, test } from "vitest";
import { overload } from "../support/overloaded-shedder.ts";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

const PAGE = page("docs/reference/shed.md");

function rowsOf(heading: string, at = 0): readonly (readonly string[])[] {
  return tablesOf(section(PAGE, heading))[at]?.rows ?? [];
}

/** The names in the first column of a table. */
function namesIn(heading: string, at = 0): readonly string[] {
  return rowsOf(heading, at).flatMap(([first = ""]) => codeIn(first));
}

function messageOf(options: object): string {
  try {
    loadShedder(options);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

test("the reference of the load shedder lists exactly the existing options", () => {
  const options = /it takes (.+)$/.exec(messageOf({ noSuchOption: 1 }))?.[1]?.split(", ");
  expect(namesIn("Options")).toEqual(options);
});

test("the documented ranges of the load shedder's options are those in its errors", () => {
  const ranges = rowsOf("Options").flatMap(([option = "", , meaning = ""]) => {
    const range = /: ([\d,]+(?: \w+)?) to ([\d,]+(?: \w+)?)$/.exec(meaning);
    return range === null ? [] : [[codeIn(option)[0] as string, range[1], range[2]] as const];
  });
  expect(ranges.map(([option]) => option)).toEqual(["maxWait", "maxInFlight", "retryAfter"]);
  for (const [option, least, most] of ranges) {
    expect(
      messageOf({ [option]: option === "maxInFlight" ? 0 : 1 }).replaceAll("1000000", "1,000,000"),
    ).toContain(`from ${least} to ${most}`);
  }
});

test("the reference of the load shedder lists exactly the existing methods", () => {
  const shed = loadShedder();
  onTestFinished(() => shed.close());
  const methods = Object.entries(shed)
    .filter(([name, value]) => typeof value === "function" && name !== "hono" && name !== "fastify")
    .map(([name]) => `${name}()`);
  expect(namesIn("Methods")).toEqual(methods);
});

test("the reference of the load shedder has its channels, and the fields of their messages", () => {
  const documented = rowsOf("Channels").map(([channel = "", name = ""]) => [
    codeIn(name)[0],
    codeIn(channel)[0],
  ]);
  expect(Object.fromEntries(documented)).toEqual(SHED_CHANNELS);
  const { request, load } = publishedOnOverload();
  expect([...namesIn("Channels", 1)].sort()).toEqual(Object.keys(request).sort());
  expect([...namesIn("Channels", 2)].sort()).toEqual(Object.keys(load).sort());
});

/** The last message on each channel of a load shedder that has shed a request. */
function publishedOnOverload(): Record<keyof typeof SHED_CHANNELS, object> {
  const last = { request: {}, load: {} };
  for (const name of ["request", "load"] as const) {
    const listen = (message: unknown): void => {
      last[name] = message as object;
    };
    subscribe(SHED_CHANNELS[name], listen);
    onTestFinished(() => {
      unsubscribe(SHED_CHANNELS[name], listen);
    });
  }
  overload();
  return last;
}
