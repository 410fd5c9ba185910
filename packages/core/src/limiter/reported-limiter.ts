/** A limiter, as what is published names it. */
export interface ReportedLimiter {
  /** The limiter's name. */
  readonly limiter: string;
  /** The plugin's name, with which the limiter's begins, where it is that of a Fastify route; undefined elsewhere. */
  readonly plugin: string | undefined;
}
