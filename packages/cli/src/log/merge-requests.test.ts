import { expect, test } from "vitest";
import type { LoggedRequest } from "./logged-request.ts";
import { mergeRequests } from "./merge-requests.ts";

const requestOf = (client: string) => (time: number) =>
  ({ time, client, method: "", path: "", status: undefined }) satisfies LoggedRequest;

async function* logOf(client: string, ...times: readonly number[]) {
  yield times.map(requestOf(client));
}

test("merged logs are in the order of their times, and equal times in the order of the logs", async () => {
  const merged: string[] = [];
  for await (const requests of mergeRequests([logOf("a", 5, 7), logOf("b", 3, 5, 7)])) {
    merged.push(...requests.map(({ client, time }) => `${client}${time}`));
  }
  expect(merged).toEqual(["b3", "a5", "b5", "a7", "b7"]);
});
