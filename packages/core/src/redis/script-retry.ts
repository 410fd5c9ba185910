import type { LuaSource } from "../algorithms/algorithm.ts";
import type { ClientPort } from "./client-port.ts";
import { writeTogether } from "./client-port.ts";
import { isServerError } from "./store-error.ts";

/** A call of EVALSHA or EVAL. */
export interface EvalCall {
  readonly script: LuaSource;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The server of the keys, if it is known. */
  readonly node: string;
}

/**
 * Repeats a call after the error of its EVALSHA, if the error guarantees that nothing happened. Otherwise rejects with the
 * error.
 */
export type RetryScript = (error: unknown, call: EvalCall) => Promise<unknown>;

/**
 * How long to wait for a hash slot that is being moved, longer each time: servers answer TRYAGAIN while only some keys of a
 * call have moved, which takes moments for each subject.
 */
const TRY_AGAIN_DELAYS_MS = [2, 4, 8, 16, 32];

/**
 * Only NOSCRIPT and TRYAGAIN cause another call here. (After CROSSSLOT, script-sender.ts sends the calls separately.) After
 * NOSCRIPT the same call is made as EVAL, which is routed by its key and loads the script on the node that lacked it. SCRIPT
 * LOAD on a cluster could go to another node. While one EVAL of a script is in progress on a node, other calls wait for it and
 * use the digest again.
 */
export function createScriptRetry(port: ClientPort): RetryScript {
  /** By node and digest: a promise that settles after the EVAL in flight there. */
  const loading = new Map<string, Promise<unknown>>();

  /** Runs a script by its text, after any EVAL of it in flight on the node. */
  function load({ script, keys, args }: EvalCall, nodeScript: string): Promise<unknown> {
    const before = loading.get(nodeScript) ?? Promise.resolve();
    const reply = before.then(() => port.evalBuffer(script.source, keys.length, ...keys, ...args));
    const settled = reply.then(noop, noop);
    loading.set(nodeScript, settled);
    void settled.then(() => {
      if (loading.get(nodeScript) === settled) loading.delete(nodeScript);
    });
    return reply;
  }

  /** Runs a script that the server did not know: by its text or, if another call is loading it, by its digest afterwards. */
  async function runLoaded(call: EvalCall): Promise<unknown> {
    const nodeScript = `${call.node} ${call.script.sha1}`;
    const loaded = loading.get(nodeScript);
    if (loaded === undefined) return load(call, nodeScript);
    await loaded;
    return runKnown(call).catch((error: unknown) => {
      // The server has forgotten the script again. Each call waits for at most one other.
      if (isServerError(error, "NOSCRIPT")) return load(call, nodeScript);
      throw error;
    });
  }

  function runKnown({ script, keys, args }: EvalCall): Promise<unknown> {
    return port.evalshaBuffer(script.sha1, keys.length, ...keys, ...args);
  }

  async function retry(error: unknown, call: EvalCall, tries = 0): Promise<unknown> {
    const again = (nextError: unknown) => retry(nextError, call, tries + 1);
    if (isServerError(error, "NOSCRIPT")) return runLoaded(call).catch(again);
    const ms = TRY_AGAIN_DELAYS_MS[tries];
    if (ms === undefined || !isMoving(error, call)) throw error;
    await new Promise((resolve) => setTimeout(resolve, ms));
    return runKnown(call).catch(again);
  }

  return retry;
}

/** Runs the scripts of a client. */
export interface ScriptRunner {
  /**
   * Runs a script, and repeats the call as `RetryScript` does. The first call sends the text of the script, which a server that
   * lacks it would ask for anyway, and later ones its digest: they follow on the same connection.
   */
  run(call: EvalCall): Promise<unknown>;
  /**
   * Makes the server of a key load a script. SCRIPT LOAD would need one more permission. A script without arguments is loaded,
   * but fails before it reads or writes a key. Rejects with the client's error if the server gave no answer.
   */
  load(script: LuaSource, key: string): Promise<void>;
  /** Has the client write the commands that `send` issues together. */
  inOneWrite(send: () => void): void;
}

export function createScriptRunner(port: ClientPort): ScriptRunner {
  const retry = createScriptRetry(port);
  /** The scripts whose text was sent, to one server at least. */
  const sent = new WeakSet<LuaSource>();

  return {
    run(call) {
      const { script, keys, args } = call;
      const repeat = (error: unknown): Promise<unknown> => retry(error, call);
      if (sent.has(script)) {
        return port.evalshaBuffer(script.sha1, keys.length, ...keys, ...args).catch(repeat);
      }
      sent.add(script);
      return port.evalBuffer(script.source, keys.length, ...keys, ...args).catch(repeat);
    },

    async load(script, key) {
      await port.evalBuffer(script.source, 1, key).catch((error: unknown) => {
        if (!isServerError(error, "ERR")) throw error;
      });
      sent.add(script);
    },

    inOneWrite: (send) => writeTogether(port, send),
  };
}

/**
 * Whether the server did nothing because of a hash slot that is being moved. Clients for clusters follow MOVED and ASK, but Valkey
 * GLIDE passes some MOVED on: its ASKING can arrive before another command than the one that it is for.
 */
function isMoving(error: unknown, { node }: EvalCall): boolean {
  return isServerError(error, "TRYAGAIN") || (node !== "" && isServerError(error, "MOVED"));
}

function noop(): void {}
