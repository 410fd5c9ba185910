import type { Limit } from "@headgate/core";
import type { RegistryPolicy } from "@headgate/core/admin";

/** The limits of a listed policy with their names. Only the shapes of the policy have the default names. */
export function namedLimitsOf({
  limits,
  shapes,
}: RegistryPolicy): readonly (readonly [name: string, limit: Limit])[] {
  const names = new Map(shapes.map(({ per, limits: own }) => [per, [...own]]));
  return limits.map((limit) => {
    const listed = names.get(limit.per ?? "default")?.shift();
    return [limit.name ?? listed ?? "", limit];
  });
}
