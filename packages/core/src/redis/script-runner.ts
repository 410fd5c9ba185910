import type { LuaSource } from "../algorithms/algorithm.ts";
import type { ClientPort } from "./client-port.ts";

/** Runs one script on one client. */
export interface ScriptRunner {
  run(keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

/**
 * Runs a script by its digest, and by its text where the server does not know it.
 *
 * Only NOSCRIPT is answered by a second call, because it alone says for certain that nothing happened. That call is the
 * same one as EVAL: routed by its key and atomic, it also loads the script on the node that lacked it, where SCRIPT LOAD
 * on a cluster would reach another. While one EVAL is under way the others wait for it and ask by digest again.
 */
export function createScriptRunner(port: ClientPort, script: LuaSource): ScriptRunner {
  /** Settles when the EVAL under way, and those that wait for it, have. */
  let loading: Promise<unknown> | undefined;

  /** Runs the text when nobody else does. */
  function load(keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const before = loading ?? Promise.resolve();
    const reply = before.then(() => port.eval(script.source, keys, args));
    const settled = reply.then(noop, noop);
    loading = settled;
    void settled.then(() => {
      if (loading === settled) loading = undefined;
    });
    return reply;
  }

  /** Resolves with undefined when the server does not know the script. */
  async function runByDigest(
    keys: readonly string[],
    args: readonly string[],
  ): Promise<{ readonly reply: unknown } | undefined> {
    try {
      return { reply: await port.evalsha(script.sha1, keys, args) };
    } catch (error) {
      if (isNoScript(error)) return undefined;
      throw error;
    }
  }

  return {
    async run(keys, args) {
      const first = await runByDigest(keys, args);
      if (first !== undefined) return first.reply;
      if (loading === undefined) return load(keys, args);
      await loading;
      // Gone again, or this node is another: no more than one round each, whatever the server forgets.
      const second = await runByDigest(keys, args);
      return second === undefined ? load(keys, args) : second.reply;
    },
  };
}

/** Servers word the message differently; the code in front is the same. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

function noop(): void {}
