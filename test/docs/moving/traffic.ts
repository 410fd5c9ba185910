import { expect } from "vitest";
import type { SetUp } from "./side-by-side.ts";

/** A request: its path and method, and the headers that matter. */
export interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a set-up is asked and answers. */
export interface Traffic {
  readonly requests: readonly Asked[];
  /** What both answer. */
  readonly statuses: readonly number[];
}

/** Sends requests, one after another. */
export async function ask(url: string, requests: readonly Asked[]): Promise<Response[]> {
  const answers: Response[] = [];
  for (const { path = "/", method = "GET", headers = {} } of requests) {
    answers.push(await fetch(url + path, { method, headers }));
  }
  return answers;
}

/** A request of a client behind a proxy. */
export function from(address: string): Asked {
  return { headers: { "x-forwarded-for": address } };
}

/** Asks for a path so many times. */
export function times(count: number, asked: Asked = {}): Asked[] {
  return Array.from({ length: count }, () => asked);
}

export function statusesOf(answers: readonly Response[]): number[] {
  return answers.map(({ status }) => status);
}

/** Whether a request to a URL is answered with 200. */
export async function isAnswered(url: string): Promise<boolean> {
  return (await fetch(url)).status === 200;
}

/** Compares what both programs of a set-up answer with what the page says. */
export function compareAnswers(
  askProgram: (program: string, requests: readonly Asked[]) => Promise<readonly Response[]>,
): (setUp: SetUp, traffic: Traffic) => Promise<void> {
  return async ({ before, after }, traffic) => {
    const theirs = await askProgram(before, traffic.requests);
    const ours = await askProgram(after, traffic.requests);
    expect(statusesOf(theirs)).toEqual(traffic.statuses);
    expect(statusesOf(ours)).toEqual(traffic.statuses);
    expectSameHeaders(theirs, ours);
  };
}

/** Headers of whole numbers, and what both limiters may differ by where a second passes between their answers. */
const SAME = { "x-ratelimit-limit": 0, "x-ratelimit-remaining": 0, "retry-after": 1 };

/** Expects the same answers in what both limiters say alike. */
export function expectSameHeaders(before: readonly Response[], after: readonly Response[]): void {
  before.forEach((answer, i) => {
    for (const [name, difference] of Object.entries(SAME)) {
      const [theirs, ours] = [answer.headers.get(name), after[i]?.headers.get(name)];
      expect(ours === null, name).toBe(theirs === null);
      expect(Math.abs(Number(ours) - Number(theirs)), name).toBeLessThanOrEqual(difference);
    }
  });
}
