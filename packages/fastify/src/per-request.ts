import type { Policy } from "@headgate/core";
import type { RequestPolicy } from "@headgate/core/http";
import { perRequest as limitsOfRequest } from "@headgate/core/http";
import type { FastifyRequest } from "fastify";

/**
 * Takes the numbers of limits from the request. `base` sets algorithms, windows, dimensions and names; `limitsOf` returns the
 * same limits with other numbers of units, or null for a request that is not limited, or a promise of either. Counts stay
 * when the numbers change. Anything else that it returns is an error passed to the framework, `HEADGATE_INVALID_LIMIT`, never an
 * unlimited request. Throws `HEADGATE_INVALID_OPTION`.
 */
export function perRequest<const Per extends string = never>(
  base: Policy<Per>,
  limitsOf: (
    request: FastifyRequest,
  ) => Policy<NoInfer<Per>> | null | Promise<Policy<NoInfer<Per>> | null>,
): RequestPolicy<FastifyRequest, Per> {
  return limitsOfRequest(base, limitsOf);
}
