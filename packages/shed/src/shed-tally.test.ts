import { processDetails } from "@headgate/core/internal";
import { expect, onTestFinished, test } from "vitest";
import type { ShedDecision } from "./law/admission.ts";
import { ShedTally } from "./shed-tally.ts";

function tallyAt(name = "server", dryRun = false) {
  const clock = { now: 1_000 };
  const tally = new ShedTally(name, dryRun, () => clock.now);
  onTestFinished(() => tally.remove());
  const shed = (priority: string, reason = "wait"): void =>
    tally.count({ request: { priority }, reason, waitMs: 1, limitMs: 1 } as ShedDecision);
  return { clock, tally, shed };
}

function listed(name = "server"): unknown {
  const details = Object.fromEntries(processDetails());
  return JSON.parse(JSON.stringify(details))[`shedder ${name}`];
}

test("a process lists whom its load shedder has shed, and since when", () => {
  const { clock, shed } = tallyAt();
  expect(listed()).toEqual({ dryRun: false });
  shed("default");
  clock.now = 2_000;
  shed("sheddable");
  shed("default", "heavy-subject");
  clock.now = 61_999;
  const episode = { from: 1_000, until: 2_000, default: 2, sheddable: 1, heavySubjects: 1 };
  expect(listed()).toEqual({ dryRun: false, episode: { ...episode, isOver: false } });
  clock.now = 62_000;
  expect(listed()).toEqual({ dryRun: false, episode: { ...episode, isOver: true } });
});

test("requests shed with a pause of less than a minute belong together, and later ones count anew", () => {
  const { clock, shed } = tallyAt();
  shed("default");
  clock.now = 60_999;
  shed("default");
  expect(listed()).toMatchObject({ episode: { from: 1_000, default: 2 } });
  clock.now = 120_999;
  shed("default");
  expect(listed()).toMatchObject({ episode: { from: 120_999, default: 1 } });
});

test("of load shedders with one name the newest is listed, and closing the older one leaves it", () => {
  const older = tallyAt();
  tallyAt("server", true);
  older.tally.remove();
  expect(listed()).toEqual({ dryRun: true });
});

test("a process lists at most 16 load shedders", () => {
  for (let i = 0; i < 20; i += 1) tallyAt(`shedder-${i}`);
  expect(listed("shedder-15")).toBeDefined();
  expect(listed("shedder-16")).toBeUndefined();
});
