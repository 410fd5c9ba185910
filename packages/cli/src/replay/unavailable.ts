import { EXIT, Failure } from "../command/failure.ts";

/** A replay without one of its decisions would be another one. */
export function unavailable(): Failure {
  return new Failure(
    "Redis stopped answering, and a replay counts all or nothing: start it again when Redis is back",
    EXIT.store,
  );
}
