import { shareByClient } from "../common/client-state.ts";
import type { ScriptTransport } from "../store/store.ts";

/** The connection state of a client, shared by all of its monitors. */
interface ConnectState {
  /** When the client was first used, by the process's monotonic clock. */
  firstUsedAt: number | undefined;
  /** Whether a call was answered, or the client reported a connection error. */
  hasOutcome: boolean;
}

const connectStateOf = shareByClient(
  "connecting",
  (): ConnectState => ({ firstUsedAt: undefined, hasOutcome: false }),
);

/**
 * The longer wait for a client that has never answered: until it does, calls wait for up to `connectTimeout`, counted from the
 * client's first use, because it may still be connecting. The client's own connection error ends this.
 */
export class ConnectGrace {
  /** Whether it is over, so that calls wait for no longer than `storeTimeout`. */
  isOver: boolean;
  /** Whether a call was answered, shared with the other monitors of the client. */
  hasAnswered = false;
  /** The earliest time at which a call times out, on the monitor's clock. */
  until: number = Number.NEGATIVE_INFINITY;
  /** Calls sent until then are given up, because the client reported a connection error. */
  failedAt: number = Number.NEGATIVE_INFINITY;
  readonly connectMs: number;
  readonly #transport: ScriptTransport;
  readonly #timeoutMs: number;
  readonly #state: ConnectState;

  constructor(client: object, transport: ScriptTransport, timeoutMs: number, connectMs: number) {
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
    this.connectMs = connectMs;
    this.#state = connectStateOf(client);
    this.isOver =
      transport.connectsTo === undefined || this.#state.hasOutcome || connectMs <= timeoutMs;
  }

  /** Records a call. The first one starts the time. */
  onCall(now: number): void {
    if (this.until !== Number.NEGATIVE_INFINITY) return;
    if (this.#transport.lastError() !== undefined) {
      // It has tried before, and may have connected since.
      this.isOver = true;
      return;
    }
    this.#state.firstUsedAt ??= performance.now();
    this.until = now + this.connectMs - (performance.now() - this.#state.firstUsedAt);
  }

  /** Records a reply. Calls that waited for the connection now have `storeTimeout` left. */
  onReply(now: number): void {
    this.#state.hasOutcome = true;
    this.hasAnswered = true;
    if (this.isOver) return;
    this.isOver = true;
    this.until = now + this.#timeoutMs;
  }

  /** Checks whether it is over by now. */
  update(now: number): void {
    if (this.#transport.lastError() !== undefined) this.#onConnectError(now);
    else if (this.#state.hasOutcome) this.onReply(now);
    else if (now > this.until) this.isOver = true;
  }

  #onConnectError(now: number): void {
    this.#state.hasOutcome = true;
    this.isOver = true;
    this.until = Number.NEGATIVE_INFINITY;
    // One server of a cluster may be down while another one answers.
    if (this.#transport.connectsTo === "one") this.failedAt = now;
  }
}
