import type { ClusterNode } from "../support/cluster-nodes.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";

let last = 0;

/** New subjects that a node serves. A key's slot is its subject's, which its braces enclose. */
export async function subjectsOf(
  cluster: RedisCluster,
  node: ClusterNode,
  count: number,
): Promise<readonly string[]> {
  const subjects: string[] = [];
  while (subjects.length < count) {
    last += 1;
    const subject = `subject-${last}`;
    if ((await cluster.nodeOf(subject)) === node) subjects.push(subject);
  }
  return subjects;
}

/** A new subject on each primary, in their order. */
export async function subjectOnEach(cluster: RedisCluster): Promise<readonly string[]> {
  const primaries = cluster.nodes.filter((node) => node.startedAs === "primary");
  const found: string[] = [];
  for (const node of primaries) found.push(...(await subjectsOf(cluster, node, 1)));
  return found;
}
