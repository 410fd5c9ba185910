import { watchResponse } from "./response/response-end.ts";

/** A stream that is piped into a response. */
interface Source {
  once(event: "error", listener: (reason: unknown) => void): unknown;
  once(event: "close", listener: () => void): unknown;
  listenerCount(event: "error"): number;
}

type Method = (...args: unknown[]) => unknown;

/** What is used of Node's response: of HTTP/1.1, or of HTTP/2's compatibility API. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  getHeaders(): Readonly<Record<string, unknown>>;
  on(event: "pipe" | "unpipe", listener: (source: Source) => void): unknown;
  destroy(): unknown;
}

/** Its methods that throw once the headers have been sent. */
const HEAD_METHODS = ["setHeader", "setHeaders", "appendHeader", "removeHeader"];

/** The headers that describe a body, or redirect: those of an abandoned answer must not mix with another one's. */
export const BODY_HEADERS: readonly string[] = [
  "content-length",
  "content-encoding",
  "content-range",
  "content-disposition",
  "etag",
  "last-modified",
  "location",
];

/** The headers that only a denial has. */
export const DENIAL_HEADERS: readonly string[] = ["Retry-After", "Cache-Control"];

/** The status and the headers of an answer, these in lower case. */
export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Why something did not become an answer. */
export interface Failure {
  readonly reason: unknown;
}

/**
 * The response of a denied request while the application may answer it. It knows whether an answer is under way, also one
 * whose first byte is still to come, and drops what is written after an answer has ended, where Node would throw or end the
 * process. It stays in place for as long as the response lives.
 */
export class DeniedResponse {
  readonly #response: NodeResponse;
  readonly #methods: Record<string, Method>;
  readonly #onLate: (error: unknown) => void;
  /** Whether something was written, or handed to what will write it. */
  #isBegun = false;
  #isEnded = false;
  #isClosed = false;
  /** What an answer is to be sent with, whatever is set before it is. */
  #head: Head | undefined;
  /** How many answers are still to show: templates, files, pipes. */
  #expected = 0;
  #failure: Failure | undefined;
  #wake: (() => void) | undefined;
  /** Whether nothing waits any more for an answer to begin. */
  #isSettled = false;
  /** What to call when a source is taken off again. */
  readonly #leavers = new WeakMap<Source, () => void>();

  /**
   * `onLate` is called with an error whose stack shows who wrote too late, and with what was thrown too late; `onClose` when the
   * response is over, or its client has left.
   */
  constructor(response: NodeResponse, onLate: (error: unknown) => void, onClose: () => void) {
    this.#response = response;
    this.#methods = response as unknown as Record<string, Method>;
    this.#onLate = onLate;
    for (const name of HEAD_METHODS) {
      this.#around(name, (call, args) => (response.headersSent ? this.#drop(args) : call(...args)));
    }
    this.#around("writeHead", (call, args) => {
      if (response.headersSent) return this.#drop(args);
      return call(...(this.#head === undefined ? args : this.#withHead(this.#head, args)));
    });
    this.#around("write", (call, args) => {
      if (this.#isTooLate) {
        this.#drop(args);
        return true;
      }
      return this.begin(() => call(...args));
    });
    this.#around("end", (call, args) => {
      if (this.#isTooLate) return this.#drop(args);
      // HTTP/2's writes by itself meanwhile.
      const result = this.begin(() => call(...args));
      this.#isEnded = true;
      // Middleware around it may keep the answer until a session is saved, for one.
      if (!response.headersSent) this.keep(response.statusCode, response.getHeaders());
      return result;
    });
    response.on("pipe", (source) => this.#follow(source));
    const close = (): void => {
      this.#isClosed = true;
      onClose();
    };
    watchResponse(response, { onSent: close, onLeft: close });
    response.on("unpipe", (source) => this.#leavers.get(source)?.());
  }

  /** Whether an answer has begun. */
  get isUnderWay(): boolean {
    return this.#isBegun || this.#response.headersSent;
  }

  /** Whether what `onDenied` returned lets a request on that it has not answered: not where nobody waits for an answer any more. */
  isLetOnBy(result: unknown): boolean {
    return result === "allow" && !this.#isClosed;
  }

  /** Makes a call that begins an answer; one that throws has begun none. */
  begin<T>(call: () => T): T {
    const result = call();
    this.#isBegun = true;
    this.#wake?.();
    return result;
  }

  /**
   * Notes that something will answer, or end an answer that has begun, until the function that is returned is called, with what
   * went wrong if anything did.
   */
  expect(): (failure?: Failure) => void {
    this.#expected += 1;
    let isOver = false;
    return (failure) => {
      if (isOver) return;
      isOver = true;
      this.#expected -= 1;
      if (failure !== undefined && this.#isSettled) this.breakOff(failure.reason);
      else this.#failure ??= failure;
      this.#wake?.();
    };
  }

  /** Resolves when an answer has begun, or none is expected any more. Rejects with what went wrong before that. */
  async settled(): Promise<void> {
    while (!this.#isBegun && this.#expected > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isSettled = true;
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Makes sure that the answer is sent with this status and these headers, whatever sets others too late. */
  keep(status: number, headers: Head["headers"]): void {
    this.#head = { status, headers };
  }

  /** Lets another answer take the place of one that was kept and has failed. */
  letGo(): void {
    this.#head = undefined;
  }

  /** Reports what came after the answer. */
  reportLate(error: unknown = new Error("the request had been answered")): void {
    this.#onLate(error);
  }

  /** Reports what went wrong after an answer had begun. Where nothing will end that answer, its client must not wait for the rest. */
  breakOff(reason: unknown): void {
    this.reportLate(reason);
    if (!this.#isEnded && this.#expected === 0) this.#response.destroy();
  }

  /** Whether what is written now comes too late: an answer has ended, or is kept and has not begun. */
  get #isTooLate(): boolean {
    return this.#isEnded || (this.#head !== undefined && !this.#response.headersSent);
  }

  #around(name: string, around: (call: Method, args: unknown[]) => unknown): void {
    const method = this.#methods[name];
    if (method === undefined) return;
    const call: Method = (...args) => method.apply(this.#response, args);
    this.#methods[name] = (...args) => around(call, args);
  }

  /** Reports a call in place of making it. */
  #drop(args: readonly unknown[]): NodeResponse {
    const callback = args.findLast((arg) => typeof arg === "function");
    if (callback !== undefined) process.nextTick(callback as () => void);
    this.reportLate();
    return this.#response;
  }

  /** The arguments of `writeHead` for an answer that was kept. */
  #withHead({ status, headers }: Head, [, ...rest]: readonly unknown[]): unknown[] {
    for (const name of BODY_HEADERS) {
      if (!Object.hasOwn(headers, name)) this.#methods["removeHeader"]?.(name);
    }
    for (const [name, value] of Object.entries(headers)) this.#methods["setHeader"]?.(name, value);
    return [status, ...rest];
  }

  /** If a source fails and nobody listens, Node would end the process. */
  #follow(source: Source): void {
    const over = this.expect();
    source.once("error", (reason) =>
      over(source.listenerCount("error") > 0 ? undefined : { reason }),
    );
    source.once("close", () => over());
    this.#leavers.set(source, over);
  }
}

/**
 * Lets a function of the application answer a denied request. Resolves with what it returned, when all that it began has come
 * to an answer or to nothing. Rejects with what went wrong, unless an answer is under way: then that is reported.
 */
export async function letAnswer(
  response: DeniedResponse,
  onDenied: () => unknown,
): Promise<unknown> {
  let result: unknown;
  let failure: Failure | undefined;
  try {
    result = await onDenied();
  } catch (reason) {
    failure = { reason };
  }
  try {
    await response.settled();
  } catch (reason) {
    failure ??= { reason };
  }
  if (failure === undefined) return result;
  if (!response.isUnderWay) throw failure.reason;
  response.breakOff(failure.reason);
  return undefined;
}
