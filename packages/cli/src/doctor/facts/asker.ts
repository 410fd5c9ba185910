import type { Address } from "./address.ts";
import type { Fact } from "./unknown.ts";
import { Unknown } from "./unknown.ts";

/** A question that is not answered for so long is not answered. */
const LONGEST_MS = 5_000;

/** Asks one server. */
export interface Asker extends Address {
  /** Whether decisions are sent there. */
  readonly decides: boolean;
  /** Rejects with the server's words, or after five seconds. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
}

/** Asks for something. What is refused is unknown, by the name of its command. */
export async function factOf<T>(asked: string, ask: () => Promise<T>): Promise<Fact<T>> {
  try {
    return await ask();
  } catch (error) {
    return new Unknown(asked, wordsOf(error));
  }
}

/** An error's words, in one line, without arguments that a server quotes. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, with args beginning with:[\s\S]*/, "").trim() || error.name;
}

/** Rejects where it takes longer than five seconds. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`no answer within ${LONGEST_MS / 1_000} s`);
    timer = setTimeout(() => reject(error), LONGEST_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
