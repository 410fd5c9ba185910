import { expect } from "vitest";
import type { SetUp } from "./side-by-side.ts";

/** A request to a set-up. The defaults are GET, the path `/` and no headers. */
export interface TrafficRequest {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The requests to a set-up and the expected statuses. */
export interface Traffic {
  readonly requests: readonly TrafficRequest[];
  /** The statuses of both programs. */
  readonly statuses: readonly number[];
}

/** Sends requests one after another. */
export async function sendAll(
  url: string,
  requests: readonly TrafficRequest[],
): Promise<Response[]> {
  const answers: Response[] = [];
  for (const { path = "/", method = "GET", headers = {} } of requests) {
    answers.push(await fetch(url + path, { method, headers }));
  }
  return answers;
}

/** Returns a request of a client behind a proxy. */
export function from(address: string): TrafficRequest {
  return { headers: { "x-forwarded-for": address } };
}

/** Returns a request that is repeated so many times. */
export function times(count: number, request: TrafficRequest = {}): TrafficRequest[] {
  return Array.from({ length: count }, () => request);
}

export function statusesOf(answers: readonly Response[]): number[] {
  return answers.map(({ status }) => status);
}

/** Whether a request to a URL has the status 200. */
export async function isOk(url: string): Promise<boolean> {
  return (await fetch(url)).status === 200;
}

/** Compares the answers of both programs of a set-up with the expected statuses, and with each other. */
export function compareAnswers(
  sendToProgram: (
    program: string,
    requests: readonly TrafficRequest[],
  ) => Promise<readonly Response[]>,
): (setUp: SetUp, traffic: Traffic) => Promise<void> {
  return async ({ before, after }, traffic) => {
    const theirs = await sendToProgram(before, traffic.requests);
    const ours = await sendToProgram(after, traffic.requests);
    expect(statusesOf(theirs)).toEqual(traffic.statuses);
    expect(statusesOf(ours)).toEqual(traffic.statuses);
    expectSameHeaders(theirs, ours);
  };
}

/** Headers with whole numbers, and the difference that is allowed if a second passes between the answers of both limiters. */
const SAME = { "x-ratelimit-limit": 0, "x-ratelimit-remaining": 0, "retry-after": 1 };

/** Expects the same values of the headers that both limiters send. */
export function expectSameHeaders(before: readonly Response[], after: readonly Response[]): void {
  before.forEach((answer, i) => {
    for (const [name, difference] of Object.entries(SAME)) {
      const [theirs, ours] = [answer.headers.get(name), after[i]?.headers.get(name)];
      expect(ours === null, name).toBe(theirs === null);
      expect(Math.abs(Number(ours) - Number(theirs)), name).toBeLessThanOrEqual(difference);
    }
  });
}
