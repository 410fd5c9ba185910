import { background } from "../common/background.ts";

/** Sends the calls of one queue that are ready. */
type Send = () => void;

/**
 * When the queues of one client send their calls. What several queues send at the same time leaves in one write, so that 50 shapes
 * cost one system call, here and on the server, instead of 50.
 */
export class SendSchedule {
  readonly #inOneWrite: (send: Send) => void;
  #atEndOfTick: Send[] = [];
  #inNextTurn: Send[] = [];
  /** Whether several queues sent together the last time. */
  #wasShared = false;

  /** `inOneWrite` calls `send`, and has the client write the commands that it issues together. */
  constructor(inOneWrite: (send: Send) => void) {
    this.#inOneWrite = inOneWrite;
  }

  /**
   * After everything that is requested in this tick, or in this turn of the event loop while several queues are in use. A single
   * queue sends in the async context of its request.
   */
  atEndOfTick(send: Send): void {
    if (this.#wasShared) this.inNextTurn(send);
    else if (this.#atEndOfTick.push(send) === 1) process.nextTick(this.#endTick);
  }

  /** After everything that is requested in this turn of the event loop. */
  inNextTurn(send: Send): void {
    if (this.#inNextTurn.push(send) > 1) return;
    background.runInAsyncScope(setImmediate, undefined, this.#beginTurn);
  }

  readonly #endTick = (): void => {
    const due = this.#atEndOfTick;
    this.#atEndOfTick = [];
    if (due.length === 1) this.#sendAll(due);
    else background.runInAsyncScope(this.#sendAll, this, due);
  };

  readonly #beginTurn = (): void => {
    const due = this.#inNextTurn;
    this.#inNextTurn = [];
    this.#sendAll(due);
  };

  #sendAll(due: readonly Send[]): void {
    this.#wasShared = due.length > 1;
    // Scripts of one queue leave apart: the server answers those of one write together, and would then wait for the next ones.
    if (!this.#wasShared) {
      (due[0] as Send)();
      return;
    }
    const errors: unknown[] = [];
    this.#inOneWrite(() => {
      for (const send of due) {
        try {
          send();
        } catch (error) {
          // The other queues count on being called.
          errors.push(error);
        }
      }
    });
    if (errors.length > 0) throw errors[0];
  }
}
