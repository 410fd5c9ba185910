import { inspect } from "node:util";
import { expect, test } from "vitest";
import { HeadgateError } from "../common/errors.ts";
import { isCrossSlot, toStoreError } from "./store-error.ts";

const UNAVAILABLE = "HEADGATE_STORE_UNAVAILABLE";
const MISCONFIGURED = "HEADGATE_STORE_MISCONFIGURED";

test.each(["MOVED 866 10.0.0.2:7000", "ASK 866 10.0.0.2:7000"])(
  "%j is for a cluster's client to follow, and tells a plain one what to do, naming no server",
  (words) => {
    expect(toStoreError(new Error(words), true).code).toBe(UNAVAILABLE);
    const storeError = toStoreError(new Error(words), false);
    expect(storeError).toMatchObject({ code: MISCONFIGURED, cause: { message: words } });
    expect(storeError.message).toMatch(/new Cluster\(\.\.\.\).*createCluster\(\.\.\.\)/);
    expect(storeError.message).not.toContain("10.0.0.2");
  },
);

test("errors of Headgate are not changed", () => {
  const error = new HeadgateError("HEADGATE_BAD_REPLY", "MOVED nowhere");
  expect(toStoreError(error, false)).toBe(error);
});

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

test.each([
  // Redis 7, Valkey; Redis 5 and 6.
  "ERR unknown command 'evalsha', with args beginning with: '538d87' '1' 'hg:{ada@example.org}:api' ",
  "ERR unknown command `evalsha`, with args beginning with: `538d87`, `1`, `hg:{ada@example.org}:api`, ",
])("what a server quotes of a command is handed on, and with it who is counted: %j", (words) => {
  const storeError = toStoreError(new Error(words), false);
  expect(storeError).toMatchObject({
    code: MISCONFIGURED,
    cause: { message: expect.stringMatching(/^ERR unknown command .evalsha.$/) },
  });
  expect(inspect(storeError)).not.toMatch(/ada@example|538d87/);
});
