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
  let loading: Promise<void> | undefined;

  return {
    async run(keys, args) {
      for (;;) {
        try {
          return await port.evalsha(script.sha1, keys, args);
        } catch (error) {
          if (!isNoScript(error)) throw error;
        }
        if (loading === undefined) {
          const reply = port.eval(script.source, keys, args);
          const settled = reply.then(noop, noop);
          loading = settled;
          void settled.then(() => {
            loading = undefined;
          });
          return await reply;
        }
        await loading;
      }
    },
  };
}

/** Servers word the message differently; the code in front is the same. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

function noop(): void {}
