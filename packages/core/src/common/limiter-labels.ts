/** The names of a limiter in published messages. */
export interface LimiterLabels {
  /** The limiter's name. */
  readonly limiter: string;
  /** For the limiter of a Fastify route: the plugin's name, with which the limiter's begins. Otherwise undefined. */
  readonly plugin: string | undefined;
}
