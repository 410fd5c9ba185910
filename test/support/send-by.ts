import type { CountingStore, ScriptTransport } from "@headgate/core/internal";

/** A transport that sends each call by `run`. */
export function sendBy(run: CountingStore["run"]): ScriptTransport["send"] {
  return (sent) => {
    run(sent.operation, sent.call).then(
      (reply) => sent.resolve(reply),
      (error) => sent.reject(error),
    );
  };
}

/** A copy of a store that runs all calls by `run`. */
export function runningBy<S extends CountingStore>(store: S, run: CountingStore["run"]): S {
  const transport = store.transport && { ...store.transport, send: sendBy(run) };
  return { ...store, run, transport };
}
