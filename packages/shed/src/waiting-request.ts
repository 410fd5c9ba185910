import { AsyncResource } from "node:async_hooks";
import { clientOf } from "@headgate/core/http";
import type { Exchange } from "./frameworks.ts";
import type { DeferredRequest, Priority } from "./law/line.ts";

/**
 * A request in line. Its handler, its response and those who learn that it was shed find the async context in which it arrived. An
 * object without closures, of which an attacker may have 100,000 made.
 */
export class WaitingRequest extends AsyncResource implements DeferredRequest {
  readonly priority: Priority;
  readonly subject: string | undefined;
  readonly arrivedAt: number;
  readonly #exchange: Exchange;
  readonly #run: (exchange: Exchange) => void;

  constructor(
    exchange: Exchange,
    priority: Priority,
    subject: string | undefined,
    arrivedAt: number,
    run: (exchange: Exchange) => void,
  ) {
    super("HeadgateShed");
    this.#exchange = exchange;
    this.priority = priority;
    this.subject = subject;
    this.arrivedAt = arrivedAt;
    this.#run = run;
  }

  get request(): object {
    return this.#exchange.request;
  }

  isGone(): boolean {
    return isGone(this.#exchange);
  }

  start(): void {
    this.runInAsyncScope(this.#run, undefined, this.#exchange);
  }

  reject(): void {
    this.runInAsyncScope(this.#exchange.reject, this.#exchange);
  }

  drop(): void {
    this.runInAsyncScope(this.#exchange.drop, this.#exchange);
  }
}

/** Whether no client waits for a response any more: it has disconnected, or something else has responded. */
function isGone({ req, res }: Exchange): boolean {
  // A stream of HTTP/2 is only destroyed once its request has been read.
  const isAborted = (req as { readonly aborted?: boolean }).aborted === true;
  return (
    isAborted || res.headersSent || res.writableEnded || clientOf(undefined, req).isDisconnected()
  );
}
