import type { CountingStore, ScriptTransport } from "@headgate/core/internal";

/** Sends the calls that are watched as `run` runs the others. */
export function sendBy(run: CountingStore["run"]): ScriptTransport["send"] {
  return (sent) => {
    run(sent.operation, sent.call).then(
      (reply) => sent.resolve(reply),
      (error) => sent.reject(error),
    );
  };
}

/** A store that runs all its calls in another way. */
export function runningBy<S extends CountingStore>(store: S, run: CountingStore["run"]): S {
  const transport = store.transport && { ...store.transport, send: sendBy(run) };
  return { ...store, run, transport };
}
