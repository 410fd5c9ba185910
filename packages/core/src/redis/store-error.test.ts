import { expect, test } from "vitest";
import { isCrossSlot } from "./store-error.ts";

test.each<[words: string, isIt: boolean]>([
  ["CROSSSLOT Keys in request don't hash to the same slot", true],
  // A script that ran may have written before it was refused a key.
  ["CROSSSLOT Keys in request don't hash to the same slot (context='within LUA script')", false],
  ["CROSSSLOT no such key script: 538d87108ae8, on @user_script:312.", false],
  ["ERR CROSSSLOT", false],
  ["MOVED 866 10.0.0.2:7000", false],
])("%j says for certain that nothing has happened: %s", (words, isIt) => {
  expect(isCrossSlot(new Error(words))).toBe(isIt);
});
