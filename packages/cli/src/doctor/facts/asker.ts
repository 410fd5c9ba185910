import type { Address } from "./address.ts";
import type { Fact } from "./unknown.ts";
import { Unknown } from "./unknown.ts";

/** Asks one server. */
export interface Asker extends Address {
  /** Whether decisions are sent there. */
  readonly decides: boolean;
  /** Rejects with the server's words, or where no answer comes in time. */
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
